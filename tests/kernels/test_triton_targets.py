"""The Triton kernels compiled for GPUs that are not here, and their traffic beside Inductor's plan for the same layer.

In processes of their own: this one has Triton's interpreter, which cannot be switched off again.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
pytest.importorskip("triton", reason="the kernels are Triton's")


def checks(tmp_path, *arguments):
    return python(tmp_path, "-m", "benchmarks.gpu_checks", *arguments)


def python(tmp_path, *arguments):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    command = [sys.executable, "-W", "ignore", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100", "gfx942"])
def test_every_named_layer_compiles_within_the_registers_and_spills_nothing(tmp_path, target):
    out = checks(tmp_path, "targets", target)
    kernels, most, limit, spilling = re.search(
        r"(\d+) kernels, most registers (\d+) of (\d+), spilling: (.*), \d+ s", out
    ).groups()
    assert int(kernels) > 200
    assert 16 < int(most) <= int(limit)
    assert spilling == "none"


@pytest.mark.slow
def test_less_is_moved_than_in_inductors_plan(tmp_path):
    out = checks(tmp_path, "traffic", "evonorm-b0", "evonorm-s0")
    rows = [line.split("|")[1:-1] for line in out.splitlines() if line.startswith("| evonorm")]
    assert len(rows) == 2
    for row in rows:
        moved = [sum(map(int, re.search(r"(\d+) \+ (\d+)", cell).groups())) for cell in row[1:]]
        assert moved[:2] == [3, 5]
        assert moved[2] >= 3
        assert moved[3] > 5


ODD = """
from benchmarks.gpu_targets import compile_layer
formula = "x / (std_bwh(v1 * x + std_wh(x)) + mean_bwh(std_whc(x)) + rms_bwh(v0 + std_whcg(x)))"
for shape, dtype in (((1, 1), "fp32"), ((1, 5, 7), "bf16"), ((3, 1, 1, 1), "fp16"), ((2, 64, 7, 7), "fp32")):
    print(sum(usage.spilled for usage in compile_layer(formula, shape, 0, dtype, "sm_90")))
"""


LAUNCH = """
from unittest import mock
import torch, triton
from triton.backends.compiler import GPUTarget
from evonorm.graph import CATALOG, Graph
from evonorm.kernels.gpu import launch
from evonorm.kernels.gpu.prepared import TritonLayer

class Compiled:  # in place of a kernel: everything that its launcher does, but for the launch
    def __init__(self, kernel):
        self.kernel = kernel
    def __getitem__(self, grid):
        return lambda *a, **k: print(self.kernel.__name__, type(self.kernel.warmup(*a, grid=grid, **k)).__name__)

driver = mock.MagicMock()
driver.get_current_target.return_value = GPUTarget("cuda", 90, 32)
layer = TritonLayer(Graph.parse(CATALOG["evonorm-b0"].formula), 1e-5, True, frozenset())
layer.kernels = {name: Compiled(kernel) for name, kernel in layer.kernels.items()}
with mock.patch.object(triton.runtime.driver, "_active", driver, create=True):
    x, vectors = torch.randn(2, 4, 3, 3), dict.fromkeys(("weight", "bias", "v1"), torch.ones(4))
    y, kept = launch.launch_forward(layer, x, vectors, 0, 2)
    launch.launch_backward(layer, x, y, kept, vectors, 0, 2)
"""


@pytest.mark.slow
def test_tritons_launcher_takes_what_we_hand_it(tmp_path):
    lines = python(tmp_path, "-c", LAUNCH).splitlines()
    assert len(lines) == 8
    assert {line.split()[1] for line in lines} == {"CompiledKernel"}


@pytest.mark.slow
def test_sizes_of_one_which_triton_takes_for_constants_compile_as_well(tmp_path):
    assert python(tmp_path, "-c", ODD).split() == ["0"] * 4
