"""The sub-commands that show things: draw, report, dashboard. Wiring only."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evonorm.foundation import needs
from evonorm.graph import CATALOG, catalog_spelling, graph_of
from evonorm.journal import find_run, run_names
from evonorm.pictures import graph_svg, png_of, why_no_png
from evonorm.report import kept_trainings_at, layer_page, response_figure, write_report, write_training_report

console = Console()

Runs = Annotated[Path, typer.Option(help="the folder of all runs")]


def draw(
    layer: Annotated[str, typer.Argument(help="a name of `evonorm layers`, or a formula")],
    out: Annotated[Path, typer.Argument(help="a file that ends in .svg, .png or .html")],
    response: Annotated[bool, typer.Option("--response", help="the output against x instead of the graph")] = False,
) -> None:
    """Draws a layer: its graph or its response as SVG or PNG, or a page with formula, graph and response as HTML.

    Example: evonorm draw evonorm-b0 out.svg
    """
    graph, entry = graph_of(layer), CATALOG.get(catalog_spelling(layer))
    affine_inside = entry is not None and entry.affine_inside
    if response and out.suffix == ".html":
        raise ValueError("--response chooses one picture for an .svg or .png file; an .html page shows both.")
    if out.suffix == ".html":
        out.write_text(layer_page(layer, graph, str(graph), affine_inside))
    elif out.suffix in (".svg", ".png"):
        svg = response_figure(graph).svg if response else graph_svg(graph, affine=not affine_inside)
        out.write_bytes(svg.encode() if out.suffix == ".svg" else png_of(svg))
    else:
        raise ValueError(f"a drawing is written to a file that ends in .svg, .png or .html, got {str(out)!r}.")
    console.print(f"wrote {out}", highlight=False, markup=False)


def report(
    name: Annotated[str, typer.Argument(help="a run's name, or a folder or .jsonl file of kept trainings")],
    against: Annotated[str | None, typer.Option(help="another run, e.g. a random search, for the progress")] = None,
    out: Annotated[
        Path | None, typer.Option(help="folder to write to; by default `report` beside what is shown")
    ] = None,
    runs: Runs = Path("runs"),
) -> None:
    """Writes the report of a search or of trainings: one HTML file that works offline, its figures as SVG and PNG, and
    their data as CSV.

    Example: evonorm report first --against random-first

    Example: evonorm report runs/train
    """
    trainings = None if name in run_names(runs) else kept_trainings_at(runs, name)
    if trainings is None:
        path = write_report(runs, name, out, against)
    elif against is None:
        path = write_training_report(trainings, out)
    else:
        raise ValueError(f"--against compares searches, and {name} holds trainings. Leave it out.")
    console.print(f"wrote {path} and {path.parent / 'figures'}", highlight=False, markup=False, soft_wrap=True)
    if (reason := why_no_png()) is not None:
        console.print(f"without PNG files: {reason}", highlight=False, markup=False, soft_wrap=True)


def dashboard(
    name: Annotated[str | None, typer.Argument(help="a run to open; all runs by default")] = None,
    host: Annotated[str, typer.Option(help="where to listen; anything but localhost lets others look")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any that is free")] = 8765,
    runs: Runs = Path("runs"),
) -> None:
    """Serves live pages about runs, also while a search is at work. Ctrl-C ends it.

    Example: evonorm dashboard first
    """
    with needs("report", "the dashboard"):
        from evonorm.dashboard import server as pages
    if name is not None:
        find_run(runs, name)
    place = pages.open_socket(host, port)
    if not runs.is_dir():
        place.close()
        raise ValueError(f"there is no folder {runs}. Begin a search, or name the folder of your runs with --runs.")
    hosts = pages.LOCAL if host in pages.LOCAL else ("*",)
    address = (
        f"http://{f'[{host}]' if ':' in host else host}:{place.getsockname()[1]}{f'/runs/{name}' if name else '/'}"
    )
    console.print(
        f"{len(run_names(runs))} run(s) at {address} (Ctrl-C ends)", highlight=False, markup=False, soft_wrap=True
    )
    pages.serve(runs, place, hosts)
