"""The sub-command `export`. Wiring only."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evonorm.export import layer_source
from evonorm.graph import CATALOG, Graph, catalog_spelling, graph_of
from evonorm.journal import Rejected, RunFolder, readable, verdict_words

console = Console()


def export(
    what: Annotated[list[str], typer.Argument(help="RUN CANDIDATE FILE, or a layer's name or formula and FILE")],
    class_name: Annotated[str | None, typer.Option("--class", help="of the layer in the file")] = None,
    force: Annotated[bool, typer.Option(help="overwrite the file; also a candidate that was rejected")] = False,
    runs: Annotated[Path, typer.Option(help="the folder of all runs")] = Path("runs"),
) -> None:
    """Writes a layer as a Python module that needs torch and nothing else.

    Where evonorm is installed, the module runs on its kernels.

    Example: evonorm export first 117 layer.py

    Example: evonorm export evonorm-s0 layer.py --class EvoNormS0

    Example: evonorm export "x * sigmoid(x) / rms_whcg(x)" layer.py
    """
    file = Path(what[-1])
    if len(what) == 3 and what[1].isdecimal():
        graph, origin = _candidate(RunFolder(runs, what[0]), int(what[1]), force)
    elif len(what) == 2:
        graph, origin = _layer(what[0])
    else:
        raise ValueError(
            "export takes a run, a candidate's number and a file (evonorm export first 117 layer.py), or a layer and a"
            f" file (evonorm export evonorm-s0 layer.py); got {' '.join(what)!r}."
        )
    source = layer_source(graph, class_name or "FoundNormAct", origin)
    if file.exists() and not force:
        raise ValueError(f"{file} exists already. Choose another name, or --force.")
    file.write_text(source)
    words = f"{file}: class {class_name or 'FoundNormAct'}, {readable(graph)}"
    console.print(words, highlight=False, markup=False, soft_wrap=True)


def _layer(name: str) -> tuple[Graph, str]:
    entry = CATALOG.get(catalog_spelling(name))
    if entry is not None and entry.affine_inside:
        raise ValueError(
            f"{entry.name} has gamma and beta between normalization and activation, as torch's own modules do."
            f" A formula has them at its end; to export that: evonorm export {str(graph_of(name))!r} FILE"
        )
    return graph_of(name), f"the layer {entry.name}" if entry is not None else "written from a formula"


def _candidate(folder: RunFolder, number: int, force: bool) -> tuple[Graph, str]:
    with folder.checked_reader() as reader:
        found = reader.candidate(number)
    if found.proposal.name:
        raise ValueError(
            f"{found.proposal.name} is a reference of the run: evonorm.create_layer({found.proposal.name!r}, channels)."
        )
    if isinstance(found.outcome, Rejected) and not force:
        raise ValueError(
            f"candidate {number} was turned down ({verdict_words(found.outcome)}), so nothing says that it works."
            f" See {folder.command('show', str(number))}, or `evonorm top {folder.name}` for better ones; --force"
            " exports it all the same."
        )
    return found.proposal.graph, f"candidate {number} of the run {folder.name}"
