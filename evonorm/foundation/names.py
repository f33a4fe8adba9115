"""Things that people call by name: a misspelt one is an error that says which was meant and which there are."""

import difflib
import re
from collections.abc import Collection


def did_you_mean(name: str, known: Collection[str], most: int = 3, cutoff: float = 0.6) -> str:
    """` Did you mean this-one or that-one?`, or nothing where no known name is close; single words are quoted."""
    close = difflib.get_close_matches(str(name).lower(), known, n=most, cutoff=cutoff)
    words = [repr(each) if each.isidentifier() else each for each in close]
    return f" Did you mean {' or '.join(words)}?" if words else ""


def unknown_name(what: str, name: object, known: Collection[str]) -> ValueError:
    """The error for a name that nobody has: `there is no model 'resnet5'. Did you mean 'resnet50'? Known: ...`."""
    return ValueError(f"there is no {what} {name!r}.{did_you_mean(str(name), known)} Known: {', '.join(known)}.")


def check_plain_name(name: str, what: str) -> None:
    """Names that people type at a shell and that stand in tables: letters, digits, - _ and dots."""
    if not (isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9][\w.-]*", name)):
        raise ValueError(f"a {what} is named by letters, digits, '-', '_' and '.', got {name!r}.")
