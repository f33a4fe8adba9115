"""How many functions and files of the package one candidate and one tensor walk through: fewer is easier to read.

python -m benchmarks.walk

Counted with `sys.setprofile` in one process: a search of three candidates with inline workers and a fitness that is a
hash (the driver's way); an evaluation of three steps on the stand-in data (a worker's way; kernels, probes and graph
not counted); a layer's construction, first call, further call and backward.
"""

import io
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from rich.console import Console

import evonorm
from evonorm.cli.search_display import Terminal
from evonorm.fitness import evaluate
from evonorm.journal import RunFolder
from evonorm.runner import Budget, Recipe, load_recipe, read_fitness_recipe, start_search
from evonorm.workers import WorkerRecipe

PACKAGE = str(Path(evonorm.__file__).parent)
INNER = ("kernels", "graph", "foundation")


@contextmanager
def counted(leave_out: tuple[str, ...] = ()) -> Iterator[set[tuple[str, str]]]:
    """The (file, function) of every call into the package meanwhile."""
    seen: set[tuple[str, str]] = set()

    def on_event(frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(PACKAGE) and not frame.f_code.co_name.startswith("<"):
            place = file[len(PACKAGE) + 1 :]
            if not place.startswith(leave_out):
                seen.add((place, frame.f_code.co_qualname))

    threading.setprofile(on_event)  # autograd's backward runs in this thread on a CPU, but let nobody rely on it
    sys.setprofile(on_event)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def tell(what: str, seen: set[tuple[str, str]]) -> None:
    print(f"{what:34s} {len(seen):4d} functions in {len({file for file, _ in seen}):3d} files")


def walk_a_tensor() -> None:
    x = torch.randn(4, 64, 8, 8, requires_grad=True)
    with counted() as seen:
        layer = evonorm.EvoNormB0(64)
    tell("EvoNormB0(64)", seen)
    for what in ("first call", "further call"):
        with counted() as seen:
            y = layer(x)
        tell(what, seen)
        with counted() as seen:
            y.sum().backward()
        tell(f"backward of the {what}", seen)


def walk_a_candidate() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with counted() as seen:
            search_three(Path(folder))
        tell("driver, three candidates", seen)
    with counted(INNER) as seen:
        evaluate_three_steps()
    tell("worker, one evaluation", seen)


def search_three(runs: Path) -> None:
    recipe = Recipe(
        evaluate="tests.runner.fake_fitness:by_hash",
        search=load_recipe(Path("laptop")).search,
        workers=WorkerRecipe(kind="inline"),
    )
    start_search(RunFolder(runs, "walk"), recipe, Budget(candidates=3), Terminal(Console(file=io.StringIO())))


def evaluate_three_steps() -> None:
    recipe = read_fitness_recipe(Path("smoke"))
    steps = replace(recipe.training, steps=3), replace(recipe.quality, steps=2), replace(recipe.stability, steps=1)
    evaluate("evonorm-b0", replace(recipe, training=steps[0], quality=steps[1], stability=steps[2]), seed=0)


if __name__ == "__main__":
    assert evonorm.EvoNormB0  # loaded before anything is counted
    walk_a_tensor()
    walk_a_candidate()
