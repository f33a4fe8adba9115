"""A Sphinx extension: formulas as MathML, examples of docstrings as programs, commands from their own help.

Everything is in the pages themselves: no font, script or picture comes from elsewhere.
"""

import re
from pathlib import Path
from typing import Any

import latex2mathml.converter
from docutils import nodes
from sphinx.application import Sphinx

import evonorm
from evonorm.graph import CATALOG

EXAMPLE = re.compile(r"^Examples?:(?P<rest>.*)$")


def mathml(latex: str, display: str) -> str:
    return latex2mathml.converter.convert(latex, display=display)


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def examples_as_programs(_: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:  # noqa: ARG001
    """Turns `Example: y = f(x)` and the indented form of it into a block of Python; names of formulas into formulas."""
    lines[:] = [re.sub(r"\*(?=[\w.])", r"\\*", line) if "`" not in line else line for line in lines]  # no emphasis
    raises = next((at for at, line in enumerate(lines) if line.startswith("Raises ")), None)
    if raises is not None:
        lines.insert(raises, "")
    found = next((at for at, line in enumerate(lines) if EXAMPLE.match(line)), None)
    if found is not None:
        rest = EXAMPLE.match(lines[found])["rest"].strip()  # type: ignore[index]
        end = found + 1
        while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
            end += 1
        inside = [
            line.replace("\\*", "*") for line in ([rest] if rest else [each[4:] for each in lines[found + 1 : end]])
        ]
        program = ["", ".. rubric:: Example", "", ".. code-block:: python", "", *(f"   {line}" for line in inside), ""]
        lines[found:end] = program
    layer = getattr(thing, "name", None)
    if what == "class" and isinstance(layer, str) and layer in CATALOG:
        lines[:0] = [".. math::", "", f"   y = {evonorm.graph_of(layer).latex()} \\; \\gamma + \\beta", ""]


def fill_in(app: Sphinx, page: str, source: list[str]) -> None:
    """Puts what is made of the code in the place of comments that a forge does not show."""
    for name, comment, lines in (("api", "public names", api_lines), ("commands", "commands", command_lines)):
        if page == f"docs/{name}":
            before, _, instead = source[0].partition(f"<!-- {comment} -->")
            assert instead.strip(), f"{page}.md has no place for the {comment}"
            source[0] = "\n".join([before, *lines()])
    if page == "docs/index":
        listed = set(re.findall(r"^([\w/.]+)$", source[0], re.MULTILINE))
        more = sorted({path.stem for path in Path(app.srcdir, "docs").glob("*.md")} - listed - {"index"})
        source[0] = source[0].replace("reliability\n", "\n".join(["reliability", *more, ""]), 1)


TITLES = {
    "layers": "Layers",
    "conversion": "Other people's models",
    "models": "Models",
    "graph": "Graphs and formulas",
    "report": "Runs",
}
REGISTERS = "Adding your own"


def public_names() -> dict[str, list[str]]:
    """The public names by the room that they come from; what registers something is a room of its own."""
    rooms: dict[str, list[str]] = {room: [] for room in TITLES}
    for name in evonorm.__all__:
        room = REGISTERS if name.startswith("register_") else getattr(evonorm, name).__module__.split(".")[1]
        rooms.setdefault(room, []).append(name)
    return rooms


def api_lines() -> list[str]:
    """Everything public with its docstring, in Markdown."""
    lines = []
    for room, names in public_names().items():
        lines += [f"## {TITLES.get(room, room.capitalize())}", ""]
        for name in names:
            lines += [f"### {name}", "", "```{eval-rst}", *documented(name), "```", ""]
    return lines


def documented(name: str) -> list[str]:
    thing = getattr(evonorm, name)
    if not isinstance(thing, type):
        return [f".. autofunction:: evonorm.{name}"]
    with_methods = not any(base.__module__.startswith("torch.") for base in thing.__mro__)
    options = ["   :members:", "   :undoc-members:"] if with_methods else []
    return [f".. autoclass:: evonorm.{name}", *options]


def command_lines() -> list[str]:
    """Every command with the text of its `--help`, in Markdown."""
    import typer

    from evonorm.cli.root import app

    group: Any = typer.main.get_command(app)
    return [line for name, command in commands(group, "evonorm") for line in section(name, command)]


def commands(group: Any, prefix: str) -> list[tuple[str, Any]]:
    """(full name, command) of a group and the groups in it, in the order of `--help`."""
    found = []
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            found += commands(command, f"{prefix} {name}")
        else:
            found.append((f"{prefix} {name}", command))
    return found


def section(name: str, command: Any) -> list[str]:
    """What a command does, its arguments and options, its examples as a block to paste."""
    words, examples = [], []
    for paragraph in re.split(r"\n\s*\n", (command.help or "").strip()):
        text = " ".join(paragraph.split())
        (examples if text.startswith("Example: ") else words).append(text.removeprefix("Example: "))
    lines = [f"## `{name}`", ""]
    for paragraph in words:
        lines += [paragraph, ""]
    if examples:
        lines += ["```sh", *examples, "```", ""]
    rows = [row(each) for each in command.params if each.name != "help"]
    return [*lines, "| argument or option | what |", "|---|---|", *rows, ""] if rows else lines


def row(parameter: Any) -> str:
    argument = parameter.param_type_name == "argument"
    label = parameter.name.upper() if argument else ", ".join(f"`{each}`" for each in parameter.opts)
    default = parameter.default
    plain = isinstance(default, int | float | str | Path) and not isinstance(default, bool)
    words = getattr(parameter, "help", None) or ("yes or no" if isinstance(default, bool) else "")
    return f"| {label} | {words.replace('|', chr(92) + '|')}{f' (by default {default})' if plain else ''} |"


def write_front_door(app: Sphinx, failure: Exception | None) -> None:
    """index.html at the top of the site, though its first page is docs/index."""
    if failure is None and app.builder.name == "html":
        page = '<!doctype html><meta charset="utf-8"><title>evonorm</title>'
        page += '<meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">evonorm</a>\n'
        (Path(app.outdir) / "index.html").write_text(page)


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("source-read", fill_in)
    app.connect("autodoc-process-docstring", examples_as_programs, priority=100)  # before napoleon reads the sections
    app.connect("build-finished", write_front_door)
    return {"parallel_read_safe": True}
