"""Where a study's numbers come from: what is kept beside its README, or with FRESH=1 work of its own.

Without FRESH it is a look: nothing is trained, and nothing that git knows is written. Whatever a study writes, figures
or fresh results, goes to `runs/studies/NAME/kept` or `runs/studies/NAME/fresh`.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evonorm.journal import KeptResults, RunFolder, import_journal
from evonorm.runner import kept_results

STUDIES, SCRATCH = Path("studies"), Path("runs/studies")


def fresh() -> bool:
    return bool(os.environ.get("FRESH"))


def scratch(study: str) -> Path:
    return SCRATCH / study / ("fresh" if fresh() else "kept")


def results(study: str) -> KeptResults:
    """Where the answers are, or with FRESH=1 will be. It says which; a look at what is not there ends with the cure."""
    cure = f"FRESH=1 trains anew into {SCRATCH / study / 'fresh'}."

    def say(line: str, _: int) -> None:
        print(line, flush=True)

    def look(line: str, left: int) -> None:
        if left:
            raise SystemExit(f"{line} A look trains nothing: {cure}")
        print(line, cure, flush=True)

    return kept_results(scratch(study), say) if fresh() else kept_results(STUDIES / study, look)


def kept_layers(study: str, what: str) -> list[str]:
    """The layers that were asked this; the catalog may have grown since."""
    questions = [record["question"] for record in kept_results(STUDIES / study).records()]
    return list(dict.fromkeys(question["layer"] for question in questions if question["what"] == what))


@contextmanager
def run_of(study: str, name: str) -> Iterator[RunFolder]:
    """A run of a study: the one that FRESH=1 made here, or the kept one, unpacked for as long as it is looked at."""
    folder = RunFolder(SCRATCH / study / "fresh", name)
    if fresh() and folder.journal.exists():
        yield folder
        return
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place), name)
        folder.path.mkdir()
        import_journal(STUDIES / study / f"{name}.evonorm", folder.journal)
        yield folder
