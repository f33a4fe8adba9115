"""Training batches of photos by step and logical worker, made ahead of time by loader processes."""

from collections.abc import Iterable, Iterator

from torch import Tensor

from evonorm.data.photos.loaders import checked, loading
from evonorm.data.photos.making import Key, Made, TrainingBatches
from evonorm.data.photos.photo_list import Photos
from evonorm.data.photos.settings import PictureSettings


class PhotoBatches:
    """`batch(step, worker)` gives uint8 pictures (n, 3, size, size) and int64 labels (n,).

    They are a pure function of (seed, step, worker), whatever the number of loaders and the order of calls. The photos
    come in an endless stream of permutations, and the workers of a step take consecutive parts of it.

    Arguments:
        photos: to be drawn from.
        settings: how a photo becomes a picture.
        images_per_worker: in a batch.
        workers: logical workers in all.
        mine: those that are asked for in this process; what is made ahead of time is step by step, for each of them.
        seed: of orders, crops and augmentations.
        loaders: processes that make batches; 0 makes them in this one. They end with `close()`, or with the object.
    """

    def __init__(
        self,
        photos: Photos,
        settings: PictureSettings,
        images_per_worker: int,
        workers: int,
        mine: range,
        seed: int,
        loaders: int,
    ) -> None:
        if not len(photos):
            raise ValueError("there are no photos to make batches of.")
        for what, value, least in (
            ("images_per_worker", images_per_worker, 1),
            ("workers", workers, 1),
            ("loaders", loaders, 0),
        ):
            if value < least:
                raise ValueError(f"{what} must be at least {least}, got {value}.")
        if not mine or mine.step < 1 or mine[0] < 0 or mine[-1] >= workers:
            raise ValueError(f"mine must be some of the workers 0 to {workers - 1}, ascending, got {mine}.")
        self.photos, self.mine, self.loaders = photos, mine, loaders
        self._making = TrainingBatches(photos, settings, images_per_worker, workers, seed)
        self._keys = _Keys(mine)
        self._loading: Iterable[Made] | None = None
        self._ahead: Iterator[Made] | None = None
        self._next: Key | None = None  # what the loaders give next
        self._skipped: set[int] = set()

    def batch(self, step: int, worker: int = 0) -> tuple[Tensor, Tensor]:
        if worker not in self.mine:
            raise ValueError(f"worker {worker} was asked for, this process has {self.mine}. Name it in `mine`.")
        made = checked(self._making[step, worker] if self.loaders == 0 else self._loaded((step, worker)))
        self._skipped.update(made.skipped)
        return made.pictures, made.labels

    @property
    def skipped(self) -> int:
        """Unreadable files met so far."""
        return len(self._skipped)

    def skipped_names(self) -> list[str]:
        return [self.photos.name(index) for index in sorted(self._skipped)]

    def close(self) -> None:
        """Ends the loaders; a batch that is asked for later starts them again."""
        self._ahead = self._loading = self._next = None

    def _loaded(self, key: Key) -> Made:
        if self._loading is None:
            self._loading = loading(self._making, self._keys, self.loaders, persistent=True)
        try:
            if self._ahead is None or key != self._next:
                self._keys.start = key
                self._ahead = iter(self._loading)  # the loaders stay, what they had made is thrown away
            made = next(self._ahead)
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
