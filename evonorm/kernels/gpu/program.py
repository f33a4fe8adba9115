"""A layer as a program of Triton kernels: their text, and in which order they run. Pure text, cached by graph."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from evonorm.graph import Graph
from evonorm.kernels.gpu.backward import Backward
from evonorm.kernels.gpu.forward import Forward
from evonorm.kernels.gpu.rows import Rows
from evonorm.kernels.gpu.text import KernelText
from evonorm.kernels.plan.plan import Plan
from evonorm.kernels.plan.rewrite import make_plan
from evonorm.kernels.plan.values import PARAMETERS, Kind, NoInstructionError

HEAD = '''\
"""{title}"""

import triton
import triton.language as tl

from evonorm.kernels.gpu.functions import *

'''
ACCESS = re.compile(r"tl\.(load|store)\((x|gy|y|gx) \+ at")


@dataclass(frozen=True)
class Program:
    """Forward and backward of one layer as kernels, and how many rows of small values they need."""

    title: str
    forward: tuple[KernelText, ...]
    backward: tuple[KernelText, ...]
    kept_samples: int
    kept_channels: int
    adjoint_samples: int
    adjoint_channels: int
    forward_partials: int
    backward_partials: int
    gradients: tuple[str, ...]  # the parameters that backward gives one of
    export_rows: tuple[int, ...]  # for each batch moment of the graph the kept row of channels that holds it

    @cached_property
    def text(self) -> str:
        """A module that a person can read and Python can run."""
        return HEAD.format(title=self.title) + "\n\n".join(each.text for each in (*self.forward, *self.backward))

    @property
    def pointers(self) -> frozenset[str]:
        """Every tensor that some kernel reads or writes."""
        return frozenset(name for each in (*self.forward, *self.backward) for name in each.pointers)

    @property
    def writes_grad_x(self) -> bool:
        """False for a layer that does not depend on x."""
        return any("gx" in each.pointers for each in self.backward)


def traffic(kernels: tuple[KernelText, ...]) -> tuple[int, int]:
    """How many tensors of x's size these kernels load and store, counted in their text."""
    found = [match.group(1) for each in kernels for match in ACCESS.finditer(each.text)]
    return found.count("load"), found.count("store")


@lru_cache(maxsize=1024)
def program_of(graph: Graph, eps: float, training: bool, per_sample: frozenset[str] = frozenset()) -> Program:
    """The program of a layer: the graph and its final affine, forward and backward."""
    moments = "moments of the batch" if training and graph.batch_moments else "no moments of the batch"
    shapes = "".join(f", {name} per sample" for name in sorted(per_sample))
    return make_program(make_plan(graph, eps, training, per_sample), f"{graph} ({moments}, eps {eps}{shapes}).")


def make_program(plan: Plan, title: str) -> Program:
    rows = Rows(plan)
    forward, backward = Forward(rows).kernels(), Backward(rows).kernels()
    export_rows = tuple(rows.export(place) for place in range(len(plan.exports)))
    return Program(
        title=title,
        forward=tuple(forward),
        backward=tuple(backward),
        kept_samples=len(rows.kept[Kind.SAMPLE]),
        kept_channels=len(rows.kept[Kind.CHANNEL]),
        adjoint_samples=len(rows.adjoints[Kind.SAMPLE]),
        adjoint_channels=len(rows.adjoints[Kind.CHANNEL]),
        forward_partials=len(rows.forward_partials),
        backward_partials=len(rows.backward_partials),
        gradients=tuple(name for name in PARAMETERS if any(f"grad_{name}" in each.pointers for each in backward)),
        export_rows=export_rows,
    )


def triton_text(graph: Graph, eps: float, training: bool) -> str:
    """The kernels of a layer with an affine of C numbers, for people to read."""
    try:
        return program_of(graph, eps, training).text
    except NoInstructionError as error:
        raise ValueError(f"{error.primitive} has no instruction; {graph} runs on plain torch.") from None
