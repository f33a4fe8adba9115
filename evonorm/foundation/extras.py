"""Packages that only some of us need: a missing one is one line that says what to install."""

from collections.abc import Iterator
from contextlib import contextmanager


class MissingExtraError(ImportError, ValueError):
    """Something was asked for that needs an extra of evonorm; the message says which."""


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Around an import: `with needs("vision", "the stand-in data"): import sklearn`."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(
            f"{what} needs the package {error.name}, which is not installed."
            f" Install it with: pip install 'evonorm[{extra}]'",
            name=error.name,
        ) from None
