"""What Inductor would run on a GPU for the same layer, written out without one: launches, full-size loads and stores.

A forward and a backward graph, parted as torch.compile parts them, are traced on fake CPU tensors (autograd asks a
driver about fake CUDA ones), moved to a fake A100 and lowered; the Triton code that comes out is read, never run.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import prod
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from evonorm.graph import Graph
from evonorm.kernels import LayerCall, run_eager

A100 = SimpleNamespace(
    name="NVIDIA A100",
    major=8,
    minor=0,
    multi_processor_count=108,
    total_memory=80 * 2**30,
    warp_size=32,
    regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=2048,
    max_threads_per_block=1024,
    shared_memory_per_block=49152,
    shared_memory_per_block_optin=166912,
    shared_memory_per_multiprocessor=167936,
    L2_cache_size=40 * 2**20,
    gcnArchName="",
)
KERNEL = re.compile(r"^def (triton_\w+)\(([^)]*)\):\n((?:    .*\n|\n)*)", re.MULTILINE)
LAUNCH = re.compile(r"(triton_\w+)\.run\(([^)]*)\)")
MADE = re.compile(r"(\w+) = empty_strided_cuda\(\(([^)]*)\), \([^)]*\), torch\.(\w+)\)")
RENAMED = re.compile(r"(\w+) = (?:reinterpret_tensor\()?(buf\d+)[;,]")


def trace(graph: Graph, shape: tuple[int, ...]) -> tuple[dict[str, tuple[Any, Any]], FakeTensorMode]:
    """Forward and backward of a layer in training, fp16 and channels_last, as AOTAutograd parts them."""
    from functorch.compile import aot_function, make_boxed_func, min_cut_rematerialization_partition
    from torch._inductor.decomposition import select_decomp_table

    found: dict[str, tuple[Any, Any]] = {}

    def keep(name: str) -> Any:
        def compiler(module: Any, arguments: Any) -> Any:
            found[name] = module, arguments
            return make_boxed_func(module)

        return compiler

    def layer(x: Tensor, *vectors: Tensor) -> tuple[Tensor, ...]:
        y, moments = run_eager(LayerCall(graph, x, *vectors, groups=32, eps=1e-5))
        return y, *moments

    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        x = torch.empty(shape, dtype=torch.float16).to(memory_format=torch.channels_last).requires_grad_()
        vectors = [torch.empty(shape[1], requires_grad=True) for _ in range(4)]
        parted = aot_function(
            layer,
            keep("forward"),
            keep("backward"),
            partition_fn=min_cut_rematerialization_partition,
            decompositions=select_decomp_table(),
        )
        y = parted(x, *vectors)[0]
        y.backward(torch.empty_like(y))
    return found, mode


def move_to_gpu(module: Any, arguments: Any, mode: FakeTensorMode) -> list[Any]:
    """The traced graph's tensors become fake CUDA tensors, in place; the arguments likewise."""

    def moved(each: Any) -> Any:
        if not isinstance(each, Tensor):
            return each
        return torch.empty_strided(each.shape, each.stride(), dtype=each.dtype, device="cuda")

    with mode:
        for node in module.graph.nodes:
            if "device" in node.kwargs:
                node.kwargs = {**node.kwargs, "device": torch.device("cuda", 0)}
            if node.meta.get("val") is not None:
                node.meta["val"] = torch.utils._pytree.tree_map(moved, node.meta["val"])
        return [moved(each) for each in arguments]


@contextmanager
def pretended_gpu() -> Iterator[None]:
    """Answers what Inductor asks torch and Triton about a device while it plans and writes code."""
    import triton
    from torch._dynamo.device_interface import CudaInterface
    from torch._inductor import scheduler
    from triton.backends.compiler import GPUTarget

    driver = mock.MagicMock()
    driver.get_current_target.return_value = GPUTarget("cuda", 80, 32)
    answers: list[tuple[Any, str, Any]] = [
        (torch.cuda, "is_available", lambda: True),
        (torch.cuda, "device_count", lambda: 1),
        (torch.cuda, "current_device", lambda: 0),
        (torch.cuda, "get_device_properties", lambda *_: A100),
        (torch.cuda, "get_device_capability", lambda *_: (8, 0)),
        (torch.cuda, "_lazy_init", lambda: None),
        (CudaInterface, "current_device", staticmethod(lambda: 0)),
        (CudaInterface, "get_device_properties", staticmethod(lambda *_: A100)),
        (CudaInterface, "get_compute_capability", staticmethod(lambda *_: 80)),
        (CudaInterface, "is_available", staticmethod(lambda: True)),
        (CudaInterface.Worker, "get_device_properties", staticmethod(lambda *_: A100)),
        (CudaInterface.Worker, "current_device", staticmethod(lambda: 0)),
        (CudaInterface, "raise_if_triton_unavailable", staticmethod(lambda *_: None)),
        (torch.utils._triton, "has_triton", lambda *_: True),
        (scheduler, "has_triton", lambda *_: True),
        (triton.runtime.driver, "_active", driver),
    ]
    with ExitStack() as stack:
        for owner, name, answer in answers:
            stack.enter_context(mock.patch.object(owner, name, answer, create=True))
        yield


def write_code(module: Any, arguments: list[Any], mode: FakeTensorMode) -> str:
    """Inductor's Python module for a graph."""
    from torch._inductor.debug import DebugContext
    from torch._inductor.graph import GraphLowering
    from torch._inductor.virtualized import V

    graph = GraphLowering(module)
    with V.set_fake_mode(mode), V.set_graph_handler(graph), V.set_debug_handler(DebugContext()):
        graph.run(*arguments)
        code: Any = graph.codegen()[0]
    return str(getattr(code, "value", code))


def full_inputs(module: Any, elements: int) -> set[str]:
    """The names of the graph's inputs that have this many elements."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    return {node.name for node in inputs if node.meta["val"].numel() == elements}


def count(code: str, elements: int, inputs: set[str]) -> tuple[int, int, int]:
    """Launches, and loads and stores of tensors of this many elements, each kernel as often as it is launched."""
    full = set(inputs)
    full |= {name for name, sizes, _ in MADE.findall(code) if _elements(sizes) == elements}
    for new, old in RENAMED.findall(code):
        full |= {new} if old in full else set()
    kernels = {name: (arguments, body) for name, arguments, body in KERNEL.findall(code)}
    loads = stores = launches = 0
    for name, arguments in LAUNCH.findall(code):
        launches += 1
        signature, body = kernels[name]
        places = [each.split(":")[0].strip() for each in signature.split(",")]
        given = [each.strip() for each in arguments.split(",")]
        for place, tensor in zip(places, given, strict=False):
            if tensor in full:
                loads += len(re.findall(rf"tl\.load\({place} ", body))
                stores += len(re.findall(rf"tl\.store\({place} ", body))
    return launches, loads, stores


def _elements(sizes: str) -> int:
    return prod(int(each) for each in sizes.split(",") if each.strip())


def inductor_plan(graph: Graph, shape: tuple[int, ...]) -> list[str]:
    """Forward and backward, in words."""
    found, mode = trace(graph, shape)
    words = []
    with pretended_gpu():
        for name in ("forward", "backward"):
            module, arguments = found[name]
            code = write_code(module, move_to_gpu(module, arguments, mode), mode)
            launches, loads, stores = count(code, prod(shape), full_inputs(module, prod(shape)))
            words.append(f"{launches} launches; {loads} + {stores}")
    return words
