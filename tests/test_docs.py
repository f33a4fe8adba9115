"""What the pages say about the tree is true: every path that they name is there, every link leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# The lab log tells what was done when, under the names of that day; the changelog tells of names that are gone.
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").glob("*.md"),
        *(ROOT / "studies").rglob("*.md"),
    }
)
PAGES = [page for page in PAGES if page.name not in ("lab_log.md", "CHANGELOG.md")]
PATH = re.compile(r"`((?:evonorm|native|recipes|studies|benchmarks|examples|tests|docs)/[\w./-]*[\w/])`")
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_and_links_lead_somewhere(page):
    text = page.read_text()
    missing = {path for path in PATH.findall(text) if not (ROOT / path).exists()}
    dead = {
        link for link in LINK.findall(text) if not link.startswith("http") and not (page.parent / link.strip()).exists()
    }
    assert not missing | dead
