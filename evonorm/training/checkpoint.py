"""A training run on disk: everything that the next step depends on, so that a resumed run is the same bit for bit."""

from pathlib import Path

import torch

from evonorm.foundation import write_atomically
from evonorm.training.run import TrainingRun

VERSION = 1


def save_checkpoint(run: TrainingRun, path: Path) -> None:
    """Writes atomically: a crash leaves the old checkpoint or the new one."""
    content = {
        "version": VERSION,
        "recipe": repr(run.recipe),
        "model": run.model.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "step": run.step,
        "losses": run.losses,
        "curve": run.curve,
        "seconds": run.seconds,
        "random_state": run.random_state,
    }
    write_atomically(path, lambda file: torch.save(content, file))


def load_checkpoint(run: TrainingRun, path: Path) -> None:
    """Takes a fresh run of the same model and recipe to where the checkpoint was written."""
    content = torch.load(path, weights_only=True)
    if not isinstance(content, dict) or content.get("version") != VERSION:
        raise ValueError(f"{path} is not a checkpoint of this version of evonorm ({VERSION}). Remove it to start anew.")
    if content["recipe"] != repr(run.recipe):
        raise ValueError(f"{path} was written under another recipe: {content['recipe']}, now {run.recipe!r}.")
    run.model.load_state_dict(content["model"])
    run.optimizer.load_state_dict(content["optimizer"])
    run.step, run.losses, run.seconds = content["step"], content["losses"], content["seconds"]
    run.curve = [(step, value) for step, value in content["curve"]]
    run.random_state = content["random_state"]
