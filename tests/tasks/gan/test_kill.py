"""A GAN's training that is killed in the middle goes on from its last checkpoint as if nothing had been."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import torch

from evonorm.fitness.evaluate import number_of_threads
from evonorm.training import Checkpoint, load_checkpoint
from tests.tasks.gan.test_task import everything, small_run

ROOT = Path(__file__).parents[3]
STEPS = 40


def train_with_checkpoints(place):
    """What the victim does: a checkpoint after every step."""
    checkpoint = Checkpoint(Path(place))
    checkpoint.SECONDS = 0.0
    with number_of_threads(1):
        small_run("bn-relu").advance(STEPS, on_step=checkpoint.after_step)


def test_kill_9_and_resume_is_the_undisturbed_training(tmp_path):
    place = tmp_path / "run.pt"
    command = [sys.executable, "-c", f"import {__name__} as t; t.train_with_checkpoints({str(place)!r})"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, cwd=ROOT) as victim:
        while not place.exists() or torch.load(place, weights_only=True)["step"] < 3:
            assert victim.poll() is None
        os.kill(victim.pid, signal.SIGKILL)
    assert victim.returncode == -signal.SIGKILL
    resumed, straight = small_run("bn-relu"), small_run("bn-relu")
    load_checkpoint(resumed, place)
    assert 3 <= resumed.step < STEPS
    until = resumed.step + 3
    with number_of_threads(1):
        resumed.advance(until)
        straight.advance(until)
    assert resumed.losses == straight.losses
    assert torch.equal(everything(resumed), everything(straight))
