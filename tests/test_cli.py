import subprocess
import sys

from evonorm.graph import CATALOG


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-c", "from evonorm.cli import main; main()", *arguments], capture_output=True, text=True
    )


def test_layers_lists_every_name():
    result = run("layers")
    assert result.returncode == 0
    assert all(name in result.stdout for name in CATALOG)


def test_the_package_itself_is_the_command_line():
    result = subprocess.run([sys.executable, "-m", "evonorm", "layers"], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, run("layers").stdout)


def test_a_mistake_is_a_message_not_a_traceback():
    result = run("layrs")
    assert result.returncode == 2
    assert "Traceback" not in result.stdout + result.stderr
    assert "layrs" in result.stderr
