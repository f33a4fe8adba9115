"""`evonorm train`: any task by its name, resumed to the bit, kept once it is done."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import nn

from evonorm.report import kept_trainings_at, write_training_report
from evonorm.runner import kept_results, load_task_recipe, stored_training, train
from evonorm.training import TASKS, Measure, Turn, register_task

ROOT = Path(__file__).parents[2]
SMALL = [
    *("settings.data=digits", "settings.anchor=resnet-nano", "settings.validation_images=64"),
    *("training.steps=6", "training.validate_every=3", "threads=1"),
]


def recipe(*changes):
    pytest.importorskip("sklearn")
    return load_task_recipe(Path("cifar10/resnet"), [*SMALL, *changes])


def test_a_shipped_recipe_trains_and_the_second_time_nothing_is_trained(tmp_path):
    kept, seen = kept_results(tmp_path), []
    first = train(recipe(), "evonorm-b0", kept, lambda run: seen.append(run.step))
    assert seen == [1, 2, 3, 4, 5, 6]
    assert first.ending == "reached"
    assert [step for step, _ in first.measured["accuracy"]] == [3, 6]
    again = train(recipe(), "evonorm-b0", kept_results(tmp_path), lambda run: seen.append(run.step))
    assert len(seen) == 6
    assert again.losses == first.losses
    other = train(recipe("seed=1"), "evonorm-b0", kept, lambda run: seen.append(run.step))
    assert other.losses != first.losses
    assert not list(tmp_path.glob("*.partial"))


class Drawn:
    """A task of one weight that shows a picture of each measurement."""

    def __init__(self, *_):
        self.model, self.step = nn.Linear(1, 1), 0
        self.turns = (Turn("only", self.model, lambda batch: {"loss": self.model(batch).square().mean()}),)

    def batch(self, step, worker, turn):
        return torch.ones(1, 1)

    def measure(self, step):
        self.step = step
        return (Measure("size", self.model.weight.detach().abs().item(), more_is_better=False),)

    def illustrations(self):
        return {"a-b": b"\x89PNG %d" % self.step}


@dataclass(frozen=True)
class NoSettings:
    pass


def test_pictures_of_every_measurement_and_a_note_of_how_far_it_is(tmp_path):
    register_task("drawn", NoSettings, Drawn)
    try:
        (tmp_path / "drawn.toml").write_text('task = "drawn"\n[training]\nsteps = 6\nvalidate_every = 2\n')
        chosen, kept, notes = load_task_recipe(tmp_path / "drawn.toml"), kept_results(tmp_path), []

        def look(_):
            notes.append([(each["answer"]["ending"], each["answer"]["steps"]) for each in kept.under_way()])

        train(chosen, "bn-relu", kept, look)
    finally:
        TASKS.remove("drawn")
    files = kept.picture_files(next(kept.records())["key"])
    assert {path.name: path.read_bytes() for path in files} == {
        f"step{step:07}-a-b.png": b"\x89PNG %d" % step for step in (2, 4, 6)
    }
    assert notes == [[], *([("under_way", step)] for step in (2, 2, 4, 4, 6))]
    assert kept.under_way() == []


def test_an_anchor_can_be_measured_with_averaged_weights_and_fresh_moments(tmp_path):
    chosen = ("training.average.decay=0.5", "settings.moment_batches=2")
    moving, anew = (train(recipe(*chosen[:n]), "bn-relu", kept_results(tmp_path)).measured for n in (1, 2))
    assert list(moving) == list(anew) == ["accuracy (averaged weights)", "accuracy"]
    assert moving != anew


def test_the_last_weights_stay_and_are_those_that_were_measured(tmp_path):
    chosen, kept = recipe("training.average.decay=0.5", "training.steps=9"), kept_results(tmp_path)
    found = train(chosen, "evonorm-b0", kept)
    run = stored_training(chosen, "evonorm-b0", kept)
    assert run.step == 9
    ((measure,),) = (run.task.measure(9),)
    assert measure.value == found.result  # of the averaged weights, which decide
    with pytest.raises(ValueError, match="no training of 'evonorm-s0' under this recipe"):
        stored_training(chosen, "evonorm-s0", kept)


KILLED = """
from pathlib import Path
from evonorm.report import kept_trainings_at, write_training_report
from evonorm.runner import kept_results, load_task_recipe, train
from evonorm.training import Checkpoint
Checkpoint.SECONDS = 0.0
def on_step(run):
    print(run.step, flush=True)
    import time; time.sleep(0.05)
recipe = load_task_recipe(Path("cifar10/resnet"), {changes!r})
train(recipe, "evonorm-s0", kept_results(Path({place!r})), on_step)
"""


def test_kill_9_and_again_is_the_undisturbed_training(tmp_path):
    changes = [*SMALL, "training.steps=12"]
    whole = train(load_task_recipe(Path("cifar10/resnet"), changes), "evonorm-s0", kept_results(tmp_path / "a"))
    code = KILLED.format(changes=changes, place=str(tmp_path / "b"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as worker:
        assert any(int(line) == 7 for line in worker.stdout)
        time.sleep(0.02)
        os.kill(worker.pid, signal.SIGKILL)
    seen = []
    kept = kept_results(tmp_path / "b")
    resumed = train(
        load_task_recipe(Path("cifar10/resnet"), changes), "evonorm-s0", kept, lambda r: seen.append(r.step)
    )
    assert seen[0] in (7, 8)
    assert resumed.losses == whole.losses
    assert resumed.measured == whole.measured


@dataclass(frozen=True)
class LineSettings:
    """A task of somebody else: fit a line."""

    slope: float = 2.0


class LineTask:
    """Least squares with a layer in front; how far off it is decides, and less is better."""

    def __init__(self, layer, settings, recipe, seed):
        import evonorm

        torch.manual_seed(seed)
        self.model = nn.Sequential(evonorm.create_layer(layer, 4), nn.Linear(4, 1))
        self.slope = settings.slope
        self.turns = (
            Turn("line", self.model, lambda batch: {"error": (self.model(batch[0]) - batch[1]).square().mean()}),
        )

    def batch(self, step, worker, turn):
        x = torch.randn(32, 4, generator=torch.Generator().manual_seed(1000 * step + worker))
        return x, self.slope * x[:, :1]

    def measure(self, step):
        with torch.no_grad():
            x, y = self.batch(10_000, 0, 0)
            return (Measure("error", float((self.model.eval()(x) - y).square().mean()), more_is_better=False),)


def test_a_task_of_somebody_else_trains_by_its_name(tmp_path):
    register_task("line", LineSettings, LineTask)
    try:
        path = tmp_path / "line.toml"
        path.write_text('task = "line"\n[settings]\nslope = 3.0\n[training]\nsteps = 150\nlearning_rate = 0.01\n')
        trained = train(load_task_recipe(path), "x", kept_results(tmp_path / "kept"))
        assert trained.measured["error"][-1][1] < 0.1
        assert trained.falling == ("error",)
        with pytest.raises(ValueError, match=r"line.toml \[settings\]: unknown key 'slop'. Did you mean 'slope'"):
            load_task_recipe(path, ["settings.slop=1"])
    finally:
        TASKS.remove("line")
    with pytest.raises(ValueError, match="there is no task 'line'"):
        load_task_recipe(path)


def test_mistakes_are_told_before_any_training(tmp_path):
    with pytest.raises(ValueError, match="Did you mean evonorm-b"):
        train(recipe(), "evonorm-b9", kept_results(tmp_path))
    with pytest.raises(ValueError, match="there is no anchor"):
        train(recipe("settings.anchor=resnet"), "bn-relu", kept_results(tmp_path))
    with pytest.raises(ValueError, match="cifar10/resnet"):
        load_task_recipe(Path("cifar10/resnett"))
    with pytest.raises(ValueError, match=r"tiny-imagenet/mobilenetv2 counts epochs, got training.steps = 40"):
        load_task_recipe(Path("tiny-imagenet/mobilenetv2"), ["training.steps=40"])
    with pytest.raises(ValueError, match="a b!"):
        register_task("a b!", LineSettings, LineTask)
    with pytest.raises(TypeError, match="must be a dataclass"):
        register_task("wrong", dict, LineTask)


def test_the_command_line_trains_and_tells(tmp_path):
    pytest.importorskip("sklearn")
    words = ["train", "cifar10/resnet", "--layer", "bn-relu", "--layer", "x / std_wh(x)", "--keep", str(tmp_path)]
    changes = [word for change in SMALL for word in ("--set", change)]
    command = [sys.executable, "-c", "from evonorm.cli import main; main()", *words, *changes]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "x / std_wh(x)" in done.stdout
    assert "accuracy" in done.stdout
    assert len((tmp_path / "outcomes.jsonl").read_text().splitlines()) == 2
    assert done.stdout.splitlines()[-1] == f"evonorm report {tmp_path} draws the curves"
    text = write_training_report(kept_trainings_at(Path("runs"), str(tmp_path))).read_text()
    assert "2 trainings of 2 layers" in text
    assert "resnet-nano, digits, 1 worker, 6 steps, 1 seed" in text
    curve = (tmp_path / "report" / "figures" / "resnet-nano_accuracy.csv").read_text().splitlines()
    assert [line.split(",")[:2] for line in curve[1:]] == [
        [layer, step] for layer in ("bn-relu", "x / std_wh(x)") for step in ("3.0", "6.0")
    ]


def test_data_is_a_folder_or_a_name(tmp_path, monkeypatch):
    from evonorm.cli.train import data_change

    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    assert data_change(Path("photos")) == [f"settings.data={tmp_path / 'photos'}"]
    assert data_change(Path("cifar10")) == ["settings.data=cifar10"]
    assert data_change(None) == []
