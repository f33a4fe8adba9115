"""The programs of the guide run as they stand there, page by page from top to bottom."""

import re
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parent.parent
PAGES = [page for page in sorted((ROOT / "docs" / "guide").glob("*.md")) if "```python" in page.read_text()]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_programs_run(page, capsys):
    for package in ("torchvision", "timm", "transformers"):
        pytest.importorskip(package, reason=f"{package} is in the dev extra")
    from timm.layers import create_norm_act

    torch.manual_seed(0)
    known, names = dict(create_norm_act._NORM_ACT_MAP), {}
    try:
        for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
            exec(compile(code, page.name, "exec"), names)
    finally:
        create_norm_act._NORM_ACT_MAP.clear()
        create_norm_act._NORM_ACT_MAP.update(known)


def test_the_guide_lists_its_pages():
    listed = re.findall(r"\[(\w+\.md)\]", (ROOT / "docs" / "guide" / "README.md").read_text())
    assert sorted(listed) == sorted(
        page.name for page in (ROOT / "docs" / "guide").glob("*.md") if page.name != "README.md"
    )
