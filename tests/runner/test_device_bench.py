"""What a GPU's owner runs, tried on the CPU: every row, problems as rows, a report that is complete."""

import json

import pytest
import torch

from evonorm.kernels import choose
from evonorm.runner import DeviceBench, as_report, bench_device, find_device
from evonorm.runner import device_bench as module

CPU = torch.device("cpu")
ASKED = DeviceBench(
    ("evonorm-s0",),
    shape=(2, 8, 4, 4),
    dtype="fp32",
    model="resnet-nano",
    batch=2,
    size=8,
    rounds=2,
    variants=("eager", "ours"),
)


def test_a_layer_and_a_step_have_a_row_for_each_way_to_run_them():
    rows = list(bench_device(ASKED, CPU))
    ways = [("bn-relu", "torch"), ("evonorm-s0", "eager"), ("evonorm-s0", "ours")]
    assert [(row.layer, row.variant) for row in rows] == ways * 2
    assert [row.what for row in rows[::3]] == ["layer 2 x 8 x 4 x 4", "resnet-nano step, 2 images of 8"]
    assert all(row.milliseconds > 0 for row in rows)
    assert [row.ratio for row in rows[::3]] == [1.0, 1.0]
    report = json.loads(json.dumps(as_report(ASKED, CPU, rows)))
    assert {"versions", "commit", "machine", "device", "asked", "rows"} == set(report)
    assert len(report["rows"]) == 6


def test_plain_torch_is_what_is_timed_under_that_name(monkeypatch):
    monkeypatch.setattr(choose, "forced_kernel", None)
    seen = []
    real = module.layer_step

    def watching(asked, device, layer, variant):
        step = real(asked, device, layer, variant)
        return lambda: (seen.append((variant, choose.forced_kernel)), step())

    monkeypatch.setattr(module, "layer_step", watching)
    monkeypatch.setattr(torch, "compile", lambda each: each)
    list(bench_device(DeviceBench(("evonorm-s0",), (2, 8, 4, 4), dtype="fp32", model=None, rounds=1), CPU))
    assert {("torch", None), ("eager", "eager"), ("inductor", "eager"), ("ours", None)} == set(seen)
    assert choose.forced_kernel is None


def test_one_way_that_fails_leaves_the_others(monkeypatch):
    real = module.layer_step

    def failing(asked, device, layer, variant):
        if variant == "eager":
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GB\nmore words")
        return real(asked, device, layer, variant)

    monkeypatch.setattr(module, "layer_step", failing)
    asked = DeviceBench(("evonorm-s0",), (2, 8, 4, 4), dtype="fp32", model=None, rounds=1, variants=("eager", "ours"))
    _, eager, ours = bench_device(asked, CPU)
    assert eager.problem == "OutOfMemoryError: CUDA out of memory. Tried to allocate 20 GB"
    assert eager.milliseconds is None
    assert ours.problem is None


def test_without_a_gpu_it_is_told_in_one_line():
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="torch sees no GPU here"):
            find_device("cuda")
    with pytest.raises(ValueError, match="--device is cuda"):
        find_device("meta")
    assert find_device("cpu") == CPU
