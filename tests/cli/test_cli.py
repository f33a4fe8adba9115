import subprocess
import sys

import pytest

from evonorm.graph import CATALOG


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-c", "from evonorm.cli import main; main()", *arguments], capture_output=True, text=True
    )


def test_layers_lists_every_name():
    result = run("layers")
    assert result.returncode == 0
    assert all(name in result.stdout for name in CATALOG)


def test_plugins_says_where_there_are_none():
    result = run("plugins")
    assert (result.returncode, result.stdout) == (0, "no package with an entry point in evonorm.plugins is installed\n")


def test_the_package_itself_is_the_command_line():
    result = subprocess.run([sys.executable, "-m", "evonorm", "layers"], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, run("layers").stdout)


def test_bench_times_layers_beside_batch_norm():
    result = run("bench", "x * sigmoid(x)", "--shape", "2,8,4,4", "--rounds", "2", "--threads", "1")
    assert result.returncode == 0, result.stderr
    lines = [line.split("│")[1:-1] for line in result.stdout.splitlines() if "│" in line]
    assert [cells[0].strip() for cells in lines] == ["bn-relu", "x * sigmoid(x)"]
    assert [float(lines[0][column]) for column in (2, 4)] == [1.0, 1.0]
    assert all(float(cell) > 0 for cells in lines for cell in cells[1:])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shape", "2,8"], "--shape is batch, channels, height and width"),
        (["--model", "resnet5"], "resnet5"),
        (["evonorm-b9"], "Did you mean evonorm-b"),
    ],
)
def test_what_cannot_be_timed_is_told(arguments, message):
    result = run("bench", *arguments)
    assert result.returncode != 0
    assert "Traceback" not in result.stderr
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize("option", [["--test-set"], ["--out", "figures"], ["--workers", "2"]])
def test_verdicts_do_not_take_options_for_trainings(option):
    result = run("evaluate", "--verdicts", *option)
    assert result.returncode != 0
    assert "are for evaluations without it" in " ".join(result.stderr.split())


def test_a_mistake_is_a_message_not_a_traceback():
    result = run("layrs")
    assert result.returncode == 2
    assert "Traceback" not in result.stdout + result.stderr
    assert "layrs" in result.stderr


def test_show_kernel_prints_what_runs_on_a_gpu():
    result = run("show-kernel", "evonorm-b0")
    assert result.returncode == 0, result.stderr
    compile(result.stdout, "printed", "exec")
    assert "def forward_pass_0_0(x, partials" in result.stdout
    assert "def backward_channels_1" in result.stdout
    refused = run("show-kernel", "x / rms_c(x)")
    assert refused.returncode == 2
    assert "rms_c has no instruction" in " ".join(refused.stderr.split())


def test_bench_on_a_gpu_needs_one():
    result = run("bench", "--device", "cuda", "--dtype", "fp8")
    assert "--dtype is one of fp32, fp16, bf16" in " ".join(result.stderr.split())
    assert result.returncode == 2
