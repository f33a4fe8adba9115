"""Batch moments over two processes: values, gradients and moments of one process with the whole batch."""

import pickle
import socket

import pytest
import torch
import torch.multiprocessing as multiprocessing
from torch import distributed

from evonorm.graph import CATALOG, Graph
from evonorm.kernels import LayerCall, SyncedMoments, kernel_for, run_eager, run_layer, why_not

FORMULAS = {
    "b0": CATALOG["evonorm-b0"].formula,
    "batch norm": "max((x - mean_bwh(x)) / std_bwh(x), v0)",
    "rms": "x * sigmoid(v1 * x) / rms_bwh(x)",
    "moments of moments": "x / (std_bwh(v1 * x + std_wh(x)) + mean_bwh(std_whc(x)) + rms_bwh(v0 + std_bwh(x)))",
}
SPLITS = {"even": (4, 4), "uneven": (7, 1), "one is empty": (8, 0)}
SHAPE = (8, 6, 3, 5)
TOLERANCES = {torch.float64: 1e-12, torch.float32: 2e-5}


def inputs(dtype):
    draw = torch.Generator().manual_seed(3)
    x, gy = (torch.randn(SHAPE, generator=draw, dtype=torch.float64).to(dtype) for _ in range(2))
    vectors = (torch.randn(4, SHAPE[1], generator=draw, dtype=torch.float64) * 0.3 + 1).to(dtype)
    return x * 0.5 + 3, gy, vectors


def run(formula, x, gy, vectors, moments):
    """y, the batch moments, the gradients of x and of the parameters."""
    x, leaves = x.clone().requires_grad_(), [each.clone().requires_grad_() for each in vectors]
    call = LayerCall(Graph.parse(formula), x, *leaves, groups=2, eps=1e-5)
    y, raw = run_layer(call._replace(moments=moments)) if moments else run_eager(call)
    gradients = torch.autograd.grad(y, [x, *leaves], gy, allow_unused=True, materialize_grads=True)
    return [each.detach() for each in (y, *raw, *gradients)], len(raw)


def work(rank, port, results):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    for formula in FORMULAS.values():
        for dtype in TOLERANCES:
            x, gy, vectors = inputs(dtype)
            for split in SPLITS.values():
                mine = slice(0, split[0]) if rank == 0 else slice(split[0], None)
                found, moments = run(formula, x[mine], gy[mine], vectors, SyncedMoments())
                results.put((rank, formula, dtype, split, moments, pickle.dumps([each.numpy() for each in found])))
    distributed.barrier()
    distributed.destroy_process_group()


@pytest.fixture(scope="module")
def of_two_processes():
    """(formula, dtype, split) -> what both ranks found."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    children = [context.Process(target=work, args=(rank, port, results)) for rank in range(2)]
    for child in children:
        child.start()
    found = {}
    for _ in range(2 * len(FORMULAS) * len(TOLERANCES) * len(SPLITS)):
        rank, *case, moments, tensors = results.get(timeout=60)
        found.setdefault(tuple(case), {})[rank] = [torch.from_numpy(each) for each in pickle.loads(tensors)], moments
    for child in children:
        child.join(timeout=60)
        assert child.exitcode == 0
    return found


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", FORMULAS)
def test_two_ranks_equal_one_process_with_the_whole_batch(of_two_processes, name, dtype, split):
    whole, moments = run(FORMULAS[name], *inputs(dtype), None)
    ranks = of_two_processes[FORMULAS[name], dtype, SPLITS[split]]
    (first, _), (second, _) = ranks[0], ranks[1]
    assert moments == ranks[0][1] == ranks[1][1] > 0
    gradient_of_x = 1 + moments
    for place, expected in enumerate(whole):
        if place in (0, gradient_of_x):
            found = torch.cat([first[place], second[place]])
        elif place < gradient_of_x:  # every rank has the moments of all
            torch.testing.assert_close(first[place], second[place], rtol=0, atol=0)
            found = first[place]
        else:
            found = first[place] + second[place]
        tolerance = TOLERANCES[dtype]
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance * float(expected.abs().max() + 1))


def test_only_plain_torch_takes_such_a_call():
    one = torch.ones(8)
    call = LayerCall(Graph.parse("x / std_bwh(x)"), torch.randn(2, 8, 3, 3), one, one, None, None, 1, 1e-5)
    synced = call._replace(moments=SyncedMoments())
    assert kernel_for(synced).name == "eager"
    assert "all ranks" in why_not(synced)["native"]


def test_one_process_alone_is_a_group_too(tmp_path):
    distributed.init_process_group("gloo", f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        x, _, vectors = inputs(torch.float64)
        x, leaves = x[:, :, :2, :2].clone().requires_grad_(), [each.clone().requires_grad_() for each in vectors]

        def synced(x, *leaves):
            graph = Graph.parse(FORMULAS["batch norm"])
            return run_layer(LayerCall(graph, x, *leaves, groups=2, eps=1e-5, moments=SyncedMoments()))[0]

        assert torch.autograd.gradcheck(synced, (x, *leaves))
        assert torch.autograd.gradgradcheck(synced, (x, *leaves), fast_mode=True)
    finally:
        distributed.destroy_process_group()
