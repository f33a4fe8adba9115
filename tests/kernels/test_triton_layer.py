"""The Triton kernels inside torch: who runs a call, the check at first use, torch.compile, ranks, double backward."""

import gc
import linecache
import warnings

import pytest
import torch
from torch import distributed

import evonorm
from evonorm.graph import CATALOG, Graph
from evonorm.kernels import SyncedMoments, choose, kernel_for, run_eager, run_layer, why_not
from evonorm.kernels.gpu import first_use, layer, modules, operations, prepared, program
from tests.kernels.reference import layer_call, make_inputs, run_and_differentiate
from tests.kernels.test_synced import FORMULAS, inputs, run
from tests.two_ranks import on_two_ranks

pytest.importorskip("triton", reason="the kernels are Triton's")
B0 = Graph.parse(CATALOG["evonorm-b0"].formula)


@pytest.fixture(autouse=True)
def forced(monkeypatch):
    monkeypatch.setattr(choose, "forced_kernel", "triton")


@pytest.fixture
def fresh():
    """Nothing prepared or checked before counts, and nothing made here is found afterwards."""
    caches = (prepared.layer_of, program.program_of)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def make_call(graph=B0, shape=(2, 4, 3, 3), **changes):
    x, (weight, bias, v0, v1), _, _ = make_inputs(graph, shape)
    return layer_call(graph, x, weight, bias, v0, v1, groups=2)._replace(**changes)


class TestWhoRunsACall:
    def test_in_the_interpreter_it_takes_cpu_tensors_if_forced(self):
        assert kernel_for(make_call()).name == "triton"
        assert why_not(make_call()) == {}

    def test_otherwise_a_cpu_is_not_its_place(self, monkeypatch):
        monkeypatch.setattr(choose, "forced_kernel", None)
        call = make_call(x=torch.randn(2, 4, 3, 3).double())
        assert kernel_for(call).name == "eager"
        assert why_not(call)["triton"].endswith("on a GPU, got torch.float64 on cpu")
        assert why_not(call)["triton operator"] == "torch is not compiling"

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"x": torch.randn(2, 4, 3, 3).double()}, "got torch.float64 on cpu"),
            ({"x": torch.randn(0, 4, 3, 3)}, "the input is empty"),
            ({"v1": torch.ones(4, device="meta")}, "a parameter on meta"),
            ({"weight": torch.nn.Buffer(torch.ones(4)).as_subclass(torch.nn.Buffer)}, "stands in for these"),
            ({"graph": Graph.parse("x / rms_c(x)")}, "there is no instruction for rms_c"),
        ],
    )
    def test_a_refusal_has_its_reason(self, changes, reason):
        call = make_call(**changes)
        with pytest.raises(TypeError, match="EVONORM_KERNEL=triton refuses this call") as caught:
            kernel_for(call)
        assert reason in str(caught.value)

    def test_without_triton_it_says_what_is_missing(self, monkeypatch):
        monkeypatch.setattr(layer, "find_triton", lambda: (None, "triton is not installed"))
        with pytest.raises(TypeError, match="triton: triton is not installed"):
            kernel_for(make_call())

    def test_a_triton_that_cannot_be_imported_is_none(self, monkeypatch):
        modules.find_triton.cache_clear()
        monkeypatch.setitem(__import__("sys").modules, "triton", None)
        try:
            assert modules.find_triton()[0] is None
            assert "pip install triton" in modules.find_triton()[1]
        finally:
            modules.find_triton.cache_clear()


class TestTheCheckAtFirstUse:
    def test_it_happens_once_for_each_dtype_and_layout(self, fresh, monkeypatch):
        shapes = []
        compare = first_use.compare
        monkeypatch.setattr(first_use, "compare", lambda *a: (shapes.append((a[1], a[2])), compare(*a))[1])
        module = evonorm.create_layer("gn-relu", 4)
        for _ in range(2):
            module(torch.randn(2, 4, 3, 3))
            module(torch.randn(3, 4, 3, 3))  # another batch runs the same kernels
        assert shapes == [((2, 4, 9, 1), torch.float32)]
        module(torch.randn(2, 4, 3, 3).to(memory_format=torch.channels_last))
        assert len(shapes) == 2
        module(torch.randn(2, 4, 3, 3).half())
        assert len(shapes) == 3

    @pytest.mark.parametrize(
        ("op", "broken", "said"),
        [
            ("max", "tl.minimum({0}, {1})", "y is off by"),
            ("neg_mul", "({0} * {1})", "grad of x is off by"),
            ("max", "no_such_function({0})", "it failed on cpu: "),
        ],
    )
    def test_a_broken_kernel_falls_back_with_one_warning(self, fresh, monkeypatch, op, broken, said):
        monkeypatch.setattr(choose, "forced_kernel", None)
        monkeypatch.setitem(choose.KERNELS, None, (choose.FORCED_TRITON, choose.EAGER))
        monkeypatch.setitem(operations.OPERATIONS, op, broken)
        call = make_call()
        with pytest.warns(RuntimeWarning, match="evonorm's Triton kernels are not used") as caught:
            y, moments = run_layer(call)
        assert len(caught) == 1
        assert said in str(caught[0].message)
        assert "show-kernel" in str(caught[0].message)
        expected, expected_moments = run_eager(call)
        assert torch.equal(y, expected)
        assert torch.equal(moments[0], expected_moments[0])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert kernel_for(call).name == "eager"
        assert said in why_not(call)["triton"]

    def test_the_modes_and_random_numbers_around_it_do_not_matter(self, fresh):
        before, kept = torch.get_rng_state(), []
        watching = torch.autograd.graph.saved_tensors_hooks(lambda t: (kept.append(t), t)[1], lambda t: t)
        with watching, torch.inference_mode(), torch.autocast("cpu"):
            y, _ = run_layer(make_call())
        assert torch.equal(torch.get_rng_state(), before)
        assert kept == []
        torch.testing.assert_close(y, run_eager(make_call())[0])


def test_one_input_is_kept_for_backward():
    call = make_call(shape=(2, 4, 5, 4))
    call.x.requires_grad_()
    run_layer(call)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (kept.append(t), t)[1], lambda t: t):
        run_layer(call)
    assert [each.numel() for each in kept if each.numel() > 2 * 2 * 4] == [call.x.numel()]


def test_any_layout_of_x_and_gy_will_do():
    x, vectors, moving, _ = make_inputs(B0, (2, 4, 6, 5))
    cut = x[:, :, ::2]
    expanded = torch.ones(()).expand(cut.shape)
    ours = run_and_differentiate(layer.run_triton, B0, cut, vectors, moving, expanded, 2)
    eager = run_and_differentiate(run_eager, B0, cut, vectors, moving, expanded, 2)
    for a, b in zip(ours, eager, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_a_gradient_can_be_differentiated_again():
    def second(run):
        call = make_call()
        x = call.x.double().float().requires_grad_()
        (first,) = torch.autograd.grad(run(call._replace(x=x))[0].square().sum(), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), x)[0]

    torch.testing.assert_close(second(run_layer), second(run_eager), rtol=1e-3, atol=1e-4)


class TestUnderCompile:
    def test_it_is_one_operator_with_the_same_bits(self):
        module, x = evonorm.create_layer("evonorm-b0", 4), torch.randn(2, 4, 3, 3)
        results = []
        for run_it in (module, torch.compile(module, backend="aot_eager", fullgraph=True)):
            leaf = x.clone().requires_grad_()
            y = run_it(leaf)
            results.append([y, *torch.autograd.grad(y.square().sum(), [leaf, *module.parameters()])])
        for a, b in zip(*results, strict=True):
            assert torch.equal(a, b)

    def test_inductor_may_fuse_plain_torch_instead(self, monkeypatch):
        seen = {}

        def note(kernel):
            def backend(graph_module, _):
                seen[kernel] = [str(node.target) for node in graph_module.graph.nodes]
                return graph_module

            return backend

        for kernel in ("triton", "inductor"):
            monkeypatch.setattr(choose, "forced_kernel", kernel)
            torch.compiler.reset()
            torch.compile(evonorm.create_layer("gn-relu", 4), backend=note(kernel))(torch.randn(2, 4, 3, 3))
        assert any("triton_forward" in target for target in seen["triton"])
        assert not any("evonorm" in target for target in seen["inductor"])


@pytest.fixture
def alone(tmp_path):
    distributed.init_process_group("gloo", f"file://{tmp_path}/meet", rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def test_with_nobody_else_synced_moments_are_the_plain_ones(alone):
    graph, (x, gy, vectors) = Graph.parse(FORMULAS["moments of moments"]), inputs(torch.float32)
    x, gy = x[:2], gy[:2]
    apart, _ = run(graph, x, gy, vectors, kernel=layer.run_triton)
    together, _ = run(graph, x, gy, vectors, SyncedMoments(), kernel=layer.run_triton)
    for a, b in zip(apart, together, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


def test_a_rank_without_pictures_has_moments_and_no_gradients(alone):
    x, gy, vectors = inputs(torch.float32)
    moments = SyncedMoments(None, [])
    (y, *_, grad_x, gamma, _, _, v1), _ = run(B0, x[:0], gy[:0], vectors, moments, layer.run_triton)
    assert moments.counted == [0]
    assert y.shape == grad_x.shape == (0, 6, 3, 5)
    assert not gamma.any()
    assert not v1.any()


def ranks_work(rank, folder):
    x, gy, vectors = inputs(torch.float32)
    mine = slice(0, 5) if rank == 0 else slice(5, 8)
    graph = Graph.parse(FORMULAS["moments of moments"])
    found, _ = run(graph, x[mine], gy[mine], vectors, SyncedMoments(), layer.run_triton)
    torch.save(found, f"{folder}/{rank}.pt")


@pytest.mark.slow
def test_ranks_equal_one_process_with_the_whole_batch(tmp_path):
    on_two_ranks(ranks_work, str(tmp_path))
    parts = [torch.load(tmp_path / f"{rank}.pt") for rank in range(2)]
    graph = Graph.parse(FORMULAS["moments of moments"])
    whole, moments = run(graph, *(each.double() for each in inputs(torch.float32)), kernel=run_eager)
    for place, expected in enumerate(whole):
        both = [part[place] for part in parts]
        joined = torch.cat(both) if place in (0, 1 + moments) else torch.stack(both).sum(0)
        found = both[0] if 0 < place <= moments else joined
        torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-4 * expected.abs().max().item())


def test_a_layer_that_is_gone_leaves_no_text_behind(fresh):
    def texts():
        return [name for name in linecache.cache if name.startswith("<evonorm ")]

    before = len(texts())
    made = prepared.TritonLayer(B0, 1e-5, True, frozenset())
    assert len(texts()) == before + 1
    del made
    gc.collect()
    assert len(texts()) == before
