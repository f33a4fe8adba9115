"""A training run on disk: everything that the next step depends on, so that a resumed run is the same bit for bit."""

import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import nn

from evonorm.foundation import write_atomically
from evonorm.training.devices import device_of
from evonorm.training.ranks import check_agreement, rank
from evonorm.training.run import TrainingRun

VERSION = 3


def save_checkpoint(run: TrainingRun, path: Path) -> None:
    """Writes atomically: a crash leaves the old checkpoint or the new one."""
    content = {
        "version": VERSION,
        "recipe": repr(run.recipe),
        "model": run.task.model.state_dict(),
        "optimizers": {name: each.state_dict() for name, each in run.optimizers.items()},
        "average": run.average.state() if run.average else [],
        "scaler": run.scaler.state_dict(),
        "step": run.step,
        "losses": run.losses,
        "curve": run.curve,
        "measured": run.measured,
        "falling": run.falling,
        "seconds": run.seconds,
        "waited": run.waited,
    }
    write_atomically(path, lambda file: torch.save(content, file))


def load_checkpoint(run: TrainingRun, path: Path) -> None:
    """Takes a fresh run of the same model and recipe to where the checkpoint was written."""
    content = read_tensors(path, run.device, "Remove it to start anew.")
    if not isinstance(content, dict) or content.get("version") != VERSION:
        raise ValueError(f"{path} is not a checkpoint of this version of evonorm ({VERSION}). Remove it to start anew.")
    if content["recipe"] != repr(run.recipe):
        raise ValueError(f"{path} was written under another recipe: {content['recipe']}, now {run.recipe!r}.")
    with _told_as_damage(path, "Remove it to start anew."):
        run.task.model.load_state_dict(content["model"])
        for name, optimizer in run.optimizers.items():
            optimizer.load_state_dict(content["optimizers"][name])
        if run.average:
            run.average.load(content["average"])
        run.scaler.load_state_dict(content["scaler"])
        for name in ("step", "losses", "curve", "measured", "falling", "seconds", "waited"):
            setattr(run, name, content[name])


def read_tensors(path: Path, device: torch.device | str, cure: str) -> Any:
    """What `torch.save` wrote, as data: a file that is damaged, cut short or wants to run code is a ValueError."""
    with _told_as_damage(path, cure):
        if zipfile.is_zipfile(path):  # torch writes checksums and does not look at them
            with zipfile.ZipFile(path) as records:
                if wrong := records.testzip():
                    raise ValueError(f"the checksum of {wrong} does not match")
        return torch.load(path, map_location=device, weights_only=True)


@contextmanager
def _told_as_damage(path: Path, cure: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as error:  # torch, zip and pickle raise whatever a damaged file makes them
        words = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} is damaged or cut short ({type(error).__name__}: {words}). {cure}") from error


def save_weights(run: TrainingRun, path: Path) -> None:
    """Writes the weights alone, averaged where the run averages them: what is used when a training has ended."""
    with run.average.in_their_place() if run.average else nullcontext():
        content = {"version": VERSION, "step": run.step, "model": run.task.model.state_dict()}
        write_atomically(path, lambda file: torch.save(content, file))


def load_weights(model: nn.Module, path: Path) -> int:
    """Puts the weights of an ended training into a model; returns after how many steps they were taken."""
    cure = "`evonorm train` says where it keeps them."
    content = read_tensors(path, device_of(model), cure)
    if not isinstance(content, dict) or not {"version", "step", "model"} <= content.keys():
        raise ValueError(f"{path} holds no weights of evonorm. {cure}")
    with _told_as_damage(path, cure):
        model.load_state_dict(content["model"])
        return int(content["step"])


class Checkpoint:
    """A run's file: the run goes on from it, and is stored there every half minute and wherever it was measured.

    Without a path nothing is stored. Of many ranks the first one writes, and all read.
    """

    SECONDS = 30.0

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._stored = time.monotonic()

    def take_up(self, run: TrainingRun) -> None:
        """Takes a fresh run to where an earlier process left it, if one did."""
        if self.path and self.path.exists():
            load_checkpoint(run, self.path)
        check_agreement("the step that they go on from", run.step)

    def after_step(self, run: TrainingRun) -> bool:
        """Returns whether this was a moment to store the run."""
        due = run.just_measured or time.monotonic() >= self._stored + self.SECONDS
        if not (self.path and rank() == 0 and due):
            return False
        save_checkpoint(run, self.path)
        self._stored = time.monotonic()
        return True
