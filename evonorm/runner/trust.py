"""Whose code runs. A recipe names the function that judges candidates, and a recipe travels inside a journal.

What evonorm itself brings may always run, and so may what somebody begins a search with. A journal from elsewhere that
names other code needs the word of whoever resumes it. The word is kept in the user's own folder, by the run's place and
the function's name: nothing in the run's folder can speak for itself.
"""

import contextlib
import os
from pathlib import Path

from evonorm.journal import JOURNAL, RunFolder, add_record, read_records
from evonorm.runner.recipe import Recipe


def trusted_file() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "evonorm" / "trusted.jsonl"


def trust(folder: RunFolder, recipe: Recipe) -> None:
    """From now on this run may go on with the function that it names."""
    if not is_trusted(folder, recipe):
        with contextlib.suppress(OSError, RuntimeError):  # nowhere to keep it: the next resume asks again
            add_record(trusted_file(), _entry(folder.path, recipe))


def is_trusted(folder: RunFolder, recipe: Recipe) -> bool:
    return recipe.foreign_code is None or _known(folder.path, recipe)


def check_trusted(folder: RunFolder, recipe: Recipe) -> None:
    """Raises, and says what would run, where nobody has given their word for it."""
    if not is_trusted(folder, recipe):
        raise ValueError(
            f"the run {folder.name} judges candidates by the function {recipe.foreign_code}, which is not evonorm's:"
            " every worker would import and run it. If you know this code and where the run comes from, say so once:"
            f" {folder.command('resume')} --trust"
        )


def check_recipe_file(file: Path, recipe: Recipe) -> None:
    """The same for a recipe that lies beside the journal of a run that nobody has given their word for."""
    journal = file.absolute().with_name(JOURNAL)
    if recipe.foreign_code is not None and journal.exists() and not _known(journal.parent, recipe):
        raise ValueError(
            f"{file} came with a journal, and judges candidates by the function {recipe.foreign_code}, which is not"
            " evonorm's: every worker would import and run it. If you know this code, add --trust."
        )


def _known(place: Path, recipe: Recipe) -> bool:
    with contextlib.suppress(OSError, RuntimeError):
        return _entry(place, recipe) in read_records(trusted_file())
    return False


def _entry(place: Path, recipe: Recipe) -> dict[str, str]:
    return {"run": str(place.resolve()), "evaluate": str(recipe.foreign_code)}
