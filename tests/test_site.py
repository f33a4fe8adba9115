"""`make docs` builds the site without a warning; links inside lead somewhere, nothing is loaded from elsewhere."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

import evonorm
from tests.pages import ROOT

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """The links, ids and loaded files of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.ids = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.add(found["href"])
        elif tag in ("script", "img", "link", "iframe", "source") and (found.get("src") or found.get("href")):
            self.loaded.add(found.get("src") or found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx", reason="sphinx is in the docs extra")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-c", "docs", ".", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {path.relative_to(out): Page(path.read_text()) for path in sorted(out.rglob("*.html"))}, out


def test_the_site(site):
    pages, out = site
    check_links(pages, out)
    check_contents(pages, out)
    external = {link for page in pages.values() for link in page.links if link.startswith("http")}
    sys.stdout.write("\n".join(["external links, not followed:", *sorted(external), ""]))


def check_links(pages, out):
    dead, outside = [], []
    for path, page in pages.items():
        for link in page.links | page.loaded:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto"):
                if link in page.loaded:
                    outside.append(f"{path}: {link}")
                continue
            if parts.scheme == "data" or path.name in ("genindex.html", "search.html"):
                continue
            target = (out / path.parent / unquote(parts.path)).resolve() if parts.path else out / path
            known = pages.get(target.relative_to(out)) if target.is_relative_to(out) else None
            if not target.exists() or (known and parts.fragment and unquote(parts.fragment) not in known.ids):
                dead.append(f"{path}: {link}")
    assert not dead
    assert not outside, "the site must work offline"
    styles = [path for path in out.rglob("*.css") if re.search(r"url\(['\"]?https?:|@import", path.read_text())]
    assert not styles


def check_contents(pages, out):
    """What is made of the code is there: every public name, every command."""
    from evonorm.graph import CATALOG

    api, commands = (out / "docs" / name for name in ("api.html", "commands.html"))
    ids = Page(api.read_text()).ids
    assert {f"evonorm.{name}" for name in evonorm.__all__} <= ids
    assert api.read_text().count("<math") >= sum(name.startswith("evonorm-") for name in CATALOG)
    text = re.sub(r"<[^>]+>", "", commands.read_text())
    assert all(f"evonorm {name}" in text for name in ("search", "journal repair", "doctor", "export"))
