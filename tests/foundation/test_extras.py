"""Without its extras evonorm still gives layers, and everything else says in one line what to install."""

import subprocess
import sys
from pathlib import Path

import pytest

from evonorm.foundation import MissingExtraError, needs

ROOT = Path(__file__).parent.parent.parent
WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
sys.argv = ["evonorm", *{arguments!r}]
{code}
"""
RUN_A_MODEL = """
import torch, evonorm
print(evonorm.create_model("resnet-nano", "evonorm-b0")(torch.zeros(2, 3, 32, 32)).shape)
"""
MAIN = "from evonorm.cli import main; main()"
EXTRAS = {
    "typer",
    "rich",
    "jinja2",
    "starlette",
    "uvicorn",
    "resvg_py",
    "torchvision",
    "PIL",
    "sklearn",
    "onnx",
    "timm",
}


def run_without(missing, code, *arguments, cwd=ROOT):
    text = WITHOUT.format(missing=missing, arguments=arguments, code=code)
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=cwd)


def test_the_line_names_the_package_and_the_extra():
    expected = r"a picture needs the package nothing_here.*evonorm\[vision\]"
    with pytest.raises(MissingExtraError, match=expected), needs("vision", "a picture"):
        import nothing_here  # noqa: F401


def test_layers_and_models_need_no_extra():
    done = run_without(EXTRAS, RUN_A_MODEL)
    assert done.returncode == 0, done.stderr
    assert "[2, 10]" in done.stdout


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [
        ("typer", ("layers",), "search"),
        ("starlette", ("dashboard",), "report"),
        ("sklearn", ("evaluate", "bn-relu", "--recipe", "smoke"), "vision"),
    ],
)
def test_a_missing_extra_is_one_line(tmp_path, missing, arguments, extra):
    done = run_without({missing}, MAIN, *arguments, cwd=tmp_path)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert f"pip install 'evonorm[{extra}]'" in done.stderr.replace("\n", " ")
