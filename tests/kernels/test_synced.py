"""Batch moments over several processes: values, gradients and moments of one process with the whole batch."""

import pytest
import torch
from torch import distributed

from evonorm.graph import CATALOG, Graph
from evonorm.kernels import THIS_BATCH, LayerCall, SyncedMoments, choose, kernel_for, run_eager, run_layer, why_not
from evonorm.kernels.cpu.library import find_library
from evonorm.kernels.plan.rewrite import make_plan
from tests.two_ranks import on_ranks

FORMULAS = {
    **{name: entry.formula for name, entry in CATALOG.items() if "bwh" in entry.formula},
    "batch norm": "max((x - mean_bwh(x)) / std_bwh(x), v0)",
    "rms": "x * sigmoid(v1 * x) / rms_bwh(x)",
    "three of one value": "x * mean_bwh(x) / (std_bwh(x) + rms_bwh(x))",
    "two values": "x * sigmoid(x) / (std_bwh(x + std_wh(x)) + rms_bwh(tanh(v1 * x)))",
    "moments of moments": "x / (std_bwh(v1 * x + std_wh(x)) + mean_bwh(std_whc(x)) + rms_bwh(v0 + std_bwh(x)))",
    "three in a row": "x * std_bwh(x * mean_bwh(x / rms_bwh(x + v1)))",
}
SPLITS = {
    "even": (4, 4),
    "uneven": (7, 1),
    "one is empty": (8, 0),
    "four": (2, 2, 2, 2),
    "four, uneven": (1, 4, 0, 3),
}
SHAPE = (8, 6, 3, 5)
TOLERANCES = {torch.float64: 1e-10, torch.float32: 2e-5}


# Drawn by `sample_live_graph` with seed 11, those with several moments over the batch of something that varies with it,
# and values and gradients that a change of 1e-9 in x hardly changes: one in 3,000, so they are written down.
RANDOM = (
    "add:0,2 rms_bwh:4 sqrt:0 std_whc:6 rms_bwh:7 log:8 div:9,5 square:6 log:11 max:12,10",
    "mul:2,0 mul:4,0 mean_bwh:5 neg:6 std_whc:7 mean_whc:4 std_bwh:8 mul:10,4 abs:11 tanh:12",
    "max:0,2 max:1,0 rms_bwh:4 std_whcg:6 rms_bwh:7 std_wh:8 square:5 abs:10 add:9,11 tanh:12",
    "max:0,1 mean_bwh:4 rms_whcg:5 sigmoid:2 std_bwh:6 exp:0 div:7,9 tanh:8 sigmoid:11 div:0,12",
    "rms_bwh:0 div:4,0 abs:5 std_bwh:6 add:4,4 mul:1,8 mul:9,0 add:7,10 abs:11 sqrt:12",
    "neg:0 mean_bwh:4 div:0,5 sqrt:6 std_bwh:7 sqrt:8 rms_whcg:4 std_whcg:9 neg:11 max:4,12",
    "sqrt:0 div:4,0 div:3,5 square:6 log:7 log:8 std_bwh:9 mean_whcg:10 mean_bwh:11 mul:9,12",
    "log:0 mul:0,0 div:0,1 log:6 abs:7 exp:3 mean_bwh:8 std_bwh:4 mul:10,11 max:12,4",
)


def inputs(dtype):
    draw = torch.Generator().manual_seed(3)
    x, gy = (torch.randn(SHAPE, generator=draw, dtype=torch.float64).to(dtype) for _ in range(2))
    vectors = (torch.randn(4, SHAPE[1], generator=draw, dtype=torch.float64) * 0.3 + 1).to(dtype)
    return x * 0.5 + 3, gy, vectors


def run(graph, x, gy, vectors, moments=THIS_BATCH, kernel=run_layer):
    """y, the batch moments, the gradients of x and of the parameters; and how many moments there are."""
    x, leaves = x.clone().requires_grad_(), [each.clone().requires_grad_() for each in vectors]
    y, raw = kernel(LayerCall(graph, x, *leaves, groups=2, eps=1e-5, moments=moments))
    gradients = torch.autograd.grad(y, [x, *leaves], gy, allow_unused=True, materialize_grads=True)
    return [each.detach() for each in (y, *raw, *gradients)], len(raw)


def part(split, rank):
    return slice(sum(split[:rank]), sum(split[: rank + 1]))


def graphs():
    random = {text: Graph.decode(text) for text in RANDOM}
    return {**{name: Graph.parse(each) for name, each in FORMULAS.items()}, **random}


def work(rank, folder):
    """Everything that this rank finds, by (name, dtype, split); the first two ranks are also a group of their own."""
    choose.forced_kernel = None
    pair = distributed.new_group([0, 1])
    found = {}
    for name, graph in graphs().items():
        for dtype in TOLERANCES:
            x, gy, vectors = inputs(dtype)
            for split_name, split in SPLITS.items():
                if rank < len(split):
                    mine, moments = part(split, rank), SyncedMoments(pair if len(split) == 2 else None, [])
                    found[name, dtype, split_name] = run(graph, x[mine], gy[mine], vectors, moments)
                    assert moments.counted == [8 * 15]
    torch.save(found, f"{folder}/{rank}.pt")


@pytest.fixture(scope="module")
def of_the_ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    on_ranks(4, work, str(folder), timeout=600)
    return [torch.load(folder / f"{rank}.pt") for rank in range(4)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("split", SPLITS)
def test_ranks_equal_one_process_with_the_whole_batch(of_the_ranks, dtype, split):
    for name, graph in graphs().items():
        whole, moments = run(graph, *(each.double() for each in inputs(dtype)))
        ranks = [of_the_ranks[rank][name, dtype, split] for rank in range(len(SPLITS[split]))]
        assert {count for _, count in ranks} == {moments}
        assert moments > 0
        gradient_of_x = 1 + moments
        for place, expected in enumerate(whole):
            parts = [found[place] for found, _ in ranks]
            if place in (0, gradient_of_x):
                found = torch.cat(parts)
            elif place < gradient_of_x:  # every rank has the moments of all
                assert all(torch.equal(each, parts[0]) for each in parts), name
                found = parts[0]
            else:
                found = torch.stack(parts).sum(0)
            room = 1 if name in FORMULAS or dtype == torch.float64 else 20
            bound = TOLERANCES[dtype] * room * (expected.abs().max() + 1)
            assert (found.double() - expected).abs().max() <= bound, (name, place)


@pytest.fixture
def alone(tmp_path):
    """One process that is a group of its own: every exchange happens, with nobody else."""
    distributed.init_process_group("gloo", f"file://{tmp_path}/meet", rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def test_one_process_alone_is_a_group_too(alone):
    x, _, vectors = inputs(torch.float64)
    x, leaves = x[:, :, :2, :2].clone().requires_grad_(), [each.clone().requires_grad_() for each in vectors]

    def synced(x, *leaves):
        graph = Graph.parse(FORMULAS["batch norm"])
        return run_layer(LayerCall(graph, x, *leaves, groups=2, eps=1e-5, moments=SyncedMoments()))[0]

    assert torch.autograd.gradcheck(synced, (x, *leaves))
    assert torch.autograd.gradgradcheck(synced, (x, *leaves), fast_mode=True)


@pytest.mark.skipif(find_library()[0] is None, reason="the native library is not built")
class TestTheNativeKernel:
    def test_takes_such_a_call(self, monkeypatch):
        monkeypatch.setattr(choose, "forced_kernel", None)
        one = torch.ones(8)
        call = LayerCall(Graph.parse("x / std_bwh(x)"), torch.randn(2, 8, 3, 3), one, one, None, None, 1, 1e-5)
        synced = call._replace(moments=SyncedMoments())
        assert kernel_for(synced).name == "native"
        assert kernel_for(synced._replace(x=call.x[:0])).name == "native"  # or it would not meet the other ranks
        assert "float64" in why_not(synced._replace(x=call.x.double()))["native"]

    @pytest.mark.parametrize("name", FORMULAS)
    @pytest.mark.parametrize("threads", [1, 3])
    def test_is_the_same_to_the_bit_when_nobody_else_is_there(self, alone, name, threads):
        graph, (x, gy, vectors) = Graph.parse(FORMULAS[name]), inputs(torch.float32)
        x, gy = (each.repeat(1, 8, 5, 5) for each in (x, gy))  # enough for several threads
        vectors = vectors.repeat(1, 8)
        torch.set_num_threads(threads)
        try:
            apart, _ = run(graph, x, gy, vectors)
            together, _ = run(graph, x, gy, vectors, SyncedMoments())
        finally:
            torch.set_num_threads(1)
        for a, b in zip(apart, together, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0)

    @pytest.mark.parametrize("name", FORMULAS)
    def test_exchanges_once_for_each_link_of_the_longest_chain(self, alone, name, monkeypatch):
        graph, (x, gy, vectors) = Graph.parse(FORMULAS[name]), inputs(torch.float32)
        calls = []
        for function in ("all_gather_into_tensor", "all_reduce"):
            before = getattr(distributed, function)
            monkeypatch.setattr(
                distributed, function, lambda *a, _f=before, _n=function, **k: (calls.append(_n), _f(*a, **k))[1]
            )
        run(graph, x, gy, vectors, SyncedMoments())
        chain = make_plan(graph, 1e-5, True, frozenset()).forward_levels[-1][0]
        assert calls == ["all_gather_into_tensor"] * chain + ["all_reduce"] * chain
        if name in CATALOG:
            assert chain == 1


def test_a_rank_without_pictures_has_moments_and_no_gradients(alone):
    graph, (x, gy, vectors) = Graph.parse(FORMULAS["evonorm-b0"]), inputs(torch.float32)
    for kernel in (run_layer, run_eager):
        moments = SyncedMoments(None, [])
        (y, *_, grad_x, gamma, _, _, v1), _ = run(graph, x[:0], gy[:0], vectors, moments, kernel)
        assert moments.counted == [0]
        assert y.shape == grad_x.shape == (0, 6, 3, 5)
        assert not gamma.any()
        assert not v1.any()
