"""Batches by step and logical worker that are ready before they are asked for, whatever is in them."""

from collections.abc import Iterable, Iterator
from typing import Any

from evonorm.data.photos.loaders import loading

Key = tuple[int, int]  # step and logical worker


class Ahead:
    """What `making[step, worker]` gives, made here or by loader processes that go on to the keys after it.

    Arguments:
        making: a pure function of the key, by square brackets; it travels to the loaders.
        mine: the workers that are asked for in this process.
        loaders: processes; 0 makes everything in this one.
    """

    def __init__(self, making: Any, mine: range, loaders: int) -> None:
        self.making, self.mine, self.loaders = making, mine, loaders
        self.coming: Iterator[Any] | None = None
        self._keys = _Keys(mine)
        self._loading: Iterable[Any] | None = None
        self._next: Key | None = None  # what the loaders give next

    def get(self, step: int, worker: int) -> Any:
        if worker not in self.mine:
            raise ValueError(f"worker {worker} was asked for, this process has {self.mine}. Name it in `mine`.")
        return self.making[step, worker] if self.loaders == 0 else self._loaded((step, worker))

    def close(self) -> None:
        """Ends the loaders; what is asked for later starts them again."""
        self.coming = self._loading = self._next = None

    def _loaded(self, key: Key) -> Any:
        if self._loading is None:
            self._loading = loading(self.making, self._keys, self.loaders, persistent=True)
        try:
            if self.coming is None or key != self._next:
                self._keys.start = key
                self.coming = iter(self._loading)  # the loaders stay, what they had made is thrown away
            made = next(self.coming)
        except BaseException:  # interrupted, or a loader was killed: what comes next begins with new ones
            self.close()
            raise
        self._next = self._keys.after(key)
        return made


class _Keys:
    """The keys from `start` on: the workers of a step, then the next step."""

    def __init__(self, mine: range) -> None:
        self.mine, self.start = mine, (0, mine[0])

    def __iter__(self) -> Iterator[Key]:
        key = self.start
        while True:
            yield key
            key = self.after(key)

    def after(self, key: Key) -> Key:
        step, worker = key
        return (step + 1, self.mine[0]) if worker == self.mine[-1] else (step, worker + self.mine.step)
