"""The sub-command `doctor`: text for people and bug reports, or JSON. Wiring only."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from evonorm.runner import examine

console = Console()


def doctor(as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False) -> None:
    """Tells what is installed, which kernel runs and why, which data are there, and tests the kernel in a second.

    Paste it into a bug report. The exit code is 1 if the kernel does not compute what plain torch does.

    Example: evonorm doctor

    Example: evonorm doctor --json
    """
    found = examine()
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        table = Table(show_header=False, box=None, pad_edge=False)
        for what, words in _lines(found):
            table.add_row(what, words)
        console.print(table, markup=False, highlight=False)
    if not found["self_test"]["passed"]:
        raise typer.Exit(1)


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    machine, kernel, tested = found["machine"], found["kernel"], found["self_test"]
    verdict = "passed" if tested["passed"] else "FAILED: please report this; EVONORM_KERNEL=eager avoids the kernel"
    lines = [
        ("versions", _pairs(found["versions"])),
        ("commit", found["commit"] or "-"),
        ("machine", f"{machine['processor']}, {machine['cores']} cores, {machine['system']}"),
        ("kernel", _kernel(kernel)),
        ("GPU", _gpu(kernel["gpu"])),
        (
            "self-test",
            f"{verdict} ({tested['comparisons']} comparisons with plain torch in fp64, largest error"
            f" {tested['largest_error']:.1e}, {tested['seconds']} s)",
        ),
        ("threads", _pairs(found["threads"])),
    ]
    for extra, packages in found["extras"].items():
        missing = [name for name, version in packages.items() if version is None]
        cure = f"; missing {', '.join(missing)}: pip install 'evonorm[{extra}]'" if missing else ""
        lines.append((f"extra {extra}", _pairs({name: each for name, each in packages.items() if each}) + cure))
    lines += [(f"plug-in {name}", words) for name, words in found["plugins"].items()]
    lines.append(("data", ", ".join(f"{name} {'yes' if there else 'no'}" for name, there in found["data"].items())))
    lines.append(("disk", ", ".join(f"{gigabytes} GB free {where}" for where, gigabytes in found["disk"].items())))
    return lines


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None) or "-"


def _kernel(kernel: dict[str, Any]) -> str:
    instructions = f" ({kernel['instructions']})" if kernel["runs"] == "native" else ""
    forced = [f"EVONORM_KERNEL={kernel['EVONORM_KERNEL']}"] if kernel["EVONORM_KERNEL"] else []
    return "; ".join([f"{kernel['runs']}{instructions}", *_reasons(kernel), *forced])


def _gpu(gpu: dict[str, Any] | None) -> str:
    return "none" if gpu is None else "; ".join([f"{gpu['name']}: {gpu['runs']}", *_reasons(gpu)])


def _reasons(facts: dict[str, Any]) -> list[str]:
    return [f"not {name}: {reason}" for name, reason in facts["why_not"].items()]
