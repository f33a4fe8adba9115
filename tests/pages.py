"""The blocks of code on README and all other pages: one way to find them, and to say why one is not run.

A block is run by `test_pages.py` unless a comment right before it says why not:

    <!-- not run: needs a GPU -->
    <!-- not run: takes an hour; but: top, export -->      (of a block of commands these are run nevertheless)
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
# The lab log tells what was done when, under the names of that day; the changelog tells of names that are gone.
HISTORY = ("lab_log.md", "CHANGELOG.md")
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "examples/*.md", "studies/*/*.md")
    for page in ROOT.glob(pattern)
    if page.name not in HISTORY
)
FENCE = re.compile(
    r"^(?P<indent> *)(?:<!-- not run: (?P<reason>[^\n]*?)(?:; but: (?P<but>[\w, -]+))? -->\n+ *)?"
    r"```(?P<language>\S*)\n(?P<code>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, its language, and why it is not run, if so."""

    page: Path
    line: int
    language: str
    code: str
    reason: str | None
    but: tuple[str, ...] = ()

    @property
    def commands(self) -> list[list[str]]:
        """The lines of a block of commands as words, without comments, environment and `\\` at the end of lines."""
        lines = self.code.replace("\\\n", " ").splitlines()
        words = [shlex.split(line, comments=True) for line in lines if line.strip()]
        return [[word for i, word in enumerate(line) if i or "=" not in word] for line in words if line]

    def runs(self, command: list[str]) -> bool:
        return self.reason is None or (command[0] == "evonorm" and bool({*command[1:3]} & {*self.but}))


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str | None = None) -> list[Block]:
    text, found = page.read_text(), []
    for each in FENCE.finditer(text):
        inside = "".join(line.removeprefix(each["indent"]) for line in each["code"].splitlines(keepends=True))
        but = tuple(name.strip() for name in (each["but"] or "").split(",") if name.strip())
        line = text.count("\n", 0, each.start("code"))
        found.append(Block(page, line, each["language"], inside, each["reason"], but))
    return [block for block in found if language is None or block.language == language]
