import json
import subprocess
import sys

import pytest

import evonorm
from evonorm.runner import doctor as examination

MAIN = "from evonorm.cli import main; main()"


def run(*arguments, before=""):
    return subprocess.run([sys.executable, "-c", f"{before}\n{MAIN}", *arguments], capture_output=True, text=True)


def test_it_tells_what_is_here_as_text_and_as_json():
    told, data = run("doctor"), run("doctor", "--json")
    assert (told.returncode, data.returncode) == (0, 0), told.stderr + data.stderr
    found = json.loads(data.stdout)
    assert found["versions"]["evonorm"] == evonorm.__version__
    assert found["self_test"]["passed"]
    assert found["self_test"]["kernel"] == found["kernel"]["runs"]
    assert "host" not in found["machine"]
    assert "self-test" in told.stdout
    assert f"evonorm {evonorm.__version__}" in told.stdout


def test_it_says_why_the_native_kernel_does_not_run():
    found = run("doctor", "--json", before="import sys; sys.modules['evonorm.kernels.cpu._native'] = None")
    kernel = json.loads(found.stdout)["kernel"]
    assert kernel["runs"] == "eager"
    assert "native" in kernel["why_not"]


WRONG = """
import evonorm.layers.norm_act as n
right = n.run_layer
n.run_layer = lambda call: (lambda y, m: (y * 1.001, m))(*right(call))
"""


def test_a_kernel_that_computes_something_else_is_exit_code_1():
    found = run("doctor", before=WRONG)
    assert found.returncode == 1
    assert "FAILED" in found.stdout


def test_nan_is_not_passed_over(monkeypatch):
    monkeypatch.setattr(examination, "_error", lambda module, x: float("inf"))
    assert not examination.self_test().passed


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["layers"], ["search", "--help"], ["top", "nothing"]])
def test_what_needs_no_torch_does_not_wait_for_it(arguments):
    code = (
        f"import atexit, sys\natexit.register(lambda: sys.stderr.write(f'torch: {{\"torch\" in sys.modules}}'))\n{MAIN}"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert "torch: False" in done.stderr


def test_help_lists_every_command_with_its_first_line():
    from evonorm.cli.root import COMMANDS, _first_line, _loaded

    told = " ".join(run("--help").stdout.split())
    for name in COMMANDS:
        assert f"│ {name} " in told
        first = " ".join(_first_line(name).split())
        assert first == " ".join(_loaded(name).help.partition("\n\n")[0].split())
