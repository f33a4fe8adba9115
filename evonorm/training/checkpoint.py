"""A training run on disk: everything that the next step depends on, so that a resumed run is the same bit for bit."""

import time
from contextlib import nullcontext
from pathlib import Path

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
    content = torch.load(path, map_location=run.device, weights_only=True)
    if not isinstance(content, dict) or content.get("version") != VERSION:
        raise ValueError(f"{path} is not a checkpoint of this version of evonorm ({VERSION}). Remove it to start anew.")
    if content["recipe"] != repr(run.recipe):
        raise ValueError(f"{path} was written under another recipe: {content['recipe']}, now {run.recipe!r}.")
    run.task.model.load_state_dict(content["model"])
    for name, optimizer in run.optimizers.items():
        optimizer.load_state_dict(content["optimizers"][name])
    if run.average:
        run.average.load(content["average"])
    run.scaler.load_state_dict(content["scaler"])
    for name in ("step", "losses", "curve", "measured", "falling", "seconds", "waited"):
        setattr(run, name, content[name])


def save_weights(run: TrainingRun, path: Path) -> None:
    """Writes the weights alone, averaged where the run averages them: what is used when a training has ended."""
    with run.average.in_their_place() if run.average else nullcontext():
        content = {"version": VERSION, "step": run.step, "model": run.task.model.state_dict()}
        write_atomically(path, lambda file: torch.save(content, file))


def load_weights(model: nn.Module, path: Path) -> int:
    """Puts the weights of an ended training into a model; returns after how many steps they were taken."""
    content = torch.load(path, map_location=device_of(model), weights_only=True)
    if not isinstance(content, dict) or not {"version", "step", "model"} <= content.keys():
        raise ValueError(f"{path} holds no weights of evonorm. `evonorm train` says where it keeps them.")
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

    def after_step(self, run: TrainingRun) -> None:
        measured = bool(run.curve) and run.curve[-1][0] == run.step
        if self.path and rank() == 0 and (measured or time.monotonic() >= self._stored + self.SECONDS):
            save_checkpoint(run, self.path)
            self._stored = time.monotonic()
