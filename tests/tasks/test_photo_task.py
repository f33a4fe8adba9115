"""The task of photos: what it trains on, what it measures on, and that a run of it is exact however it is cut up."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from evonorm.data import IMAGENET_MEAN, IMAGENET_STD, open_photo_folder
from evonorm.runner import kept_results, load_task_recipe, train
from evonorm.tasks import PhotoSettings, PhotoTask
from evonorm.training import Checkpoint, TrainingRecipe, TrainingRun
from tests.tasks.photo_folder import CLASSES, write_photos

pytest.importorskip("torchvision")
ROOT = Path(__file__).parents[2]
SMALL = [
    *("settings.model=mobilenet-nano", "settings.images_per_worker=8", "settings.pictures.size=32", "threads=1"),
    *("training.epochs=3", "training.workers=2", "training.learning_rate=0.4", "settings.loaders=0"),
]


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return write_photos(tmp_path_factory.mktemp("photos"))


def recipe(photos, *changes, variant=None, name="tiny-imagenet/mobilenetv2"):
    return load_task_recipe(Path(name), [*SMALL, f"settings.data={photos}", *changes], variant)


def test_a_layer_learns_colours_and_both_kinds_of_weights_are_measured(photos, tmp_path):
    found = train(recipe(photos, "training.epochs=12"), "evonorm-s0", kept_results(tmp_path))
    averaged, plain = "top-1 accuracy (averaged weights)", "top-1 accuracy"
    assert list(found.measured) == [averaged, "top-5 accuracy (averaged weights)", plain, "top-5 accuracy"]
    assert found.steps == 36  # 12 epochs of 48 photos, 2 x 8 a step
    assert [step for step, _ in found.measured[plain]] == list(range(3, 37, 3))
    assert found.measured[plain][-1][1] > 0.8
    assert found.measured["top-5 accuracy"][-1][1] == 1.0  # of three classes
    assert found.result == found.measured[averaged][-1][1]
    assert 0 < found.waited < found.seconds


def test_pictures_are_normalized_on_their_way_into_the_model(photos):
    settings = recipe(photos).settings
    task = PhotoTask("bn-relu", settings, TrainingRecipe(workers=2), seed=0)
    pictures, _ = task.batch(0, 0, 0)
    assert pictures.dtype == torch.uint8
    mean, std = (torch.tensor(each).view(1, 3, 1, 1) for each in (IMAGENET_MEAN, IMAGENET_STD))
    torch.testing.assert_close(task.prepare(pictures), (pictures / 255 - mean) / std, rtol=1e-5, atol=1e-5)


def test_held_out_photos_are_training_photos_that_nobody_trains_on(photos):
    settings = replace(recipe(photos).settings, held_out=0.25)
    task = PhotoTask("bn-relu", settings, TrainingRecipe(), seed=0)
    folder = open_photo_folder(photos)
    trained = {settings.photos.training.path(i) for i in range(len(settings.photos.training))}
    measured = {settings.photos.measured.path(i) for i in range(len(settings.photos.measured))}
    assert trained | measured == {folder.training.path(i) for i in range(len(folder.training))}
    assert not trained & measured
    assert sum(len(labels) for _, labels in task._held_out()) == len(measured) == 4 * len(CLASSES)
    whole = replace(settings, held_out=0.0).photos.measured
    assert {whole.path(i) for i in range(len(whole))} == {
        folder.validation.path(i) for i in range(len(folder.validation))
    }


def test_a_result_is_found_by_the_photos_and_not_by_their_place(photos, tmp_path):
    moved = tmp_path / "elsewhere"
    moved.symlink_to(photos)
    here, there = recipe(photos).in_steps(), recipe(moved, "settings.loaders=3").in_steps()
    assert here.question("bn-relu") == there.question("bn-relu")
    assert str(photos) not in str(here.question("bn-relu"))
    fewer = write_photos(tmp_path / "fewer", train=15)
    assert recipe(fewer).in_steps().question("bn-relu") != here.question("bn-relu")
    assert recipe(photos, "settings.held_out=0.1").in_steps().question("bn-relu") != here.question("bn-relu")


def test_variants_change_what_they_name_and_nothing_else(photos):
    plain = load_task_recipe(Path("imagenet/resnet50"))
    longer = load_task_recipe(Path("imagenet/resnet50"), variant="aug+2x+cos")
    assert (plain.training.schedule, longer.training.schedule) == ("steps", "cosine")
    assert (plain.training.epochs, longer.training.epochs) == (90, 180)
    assert replace(longer.settings, pictures=plain.settings.pictures) == plain.settings
    assert longer.settings.pictures.augmentation == "randaugment"
    changed = load_task_recipe(Path("imagenet/resnet50"), ["training.epochs=3"], "aug+2x+cos")
    assert (changed.training.epochs, changed.training.schedule) == (3, "cosine")
    with pytest.raises(ValueError, match=r"no variant of imagenet/resnet50 'aug\+3x'.*Did you mean aug\+2x"):
        load_task_recipe(Path("imagenet/resnet50"), variant="aug+3x")


@pytest.mark.parametrize("name", ["resnet50", "mobilenetv2", "mnasnet", "efficientnet-b0", "efficientnet-b5"])
def test_the_recipes_of_imagenet_have_the_papers_batches_and_rates(name):
    """Workers x images and peak rates as the paper gives them (appendix "Implementation Details")."""
    paper = {
        "resnet50": (8, 128, 0.4), "mobilenetv2": (32, 128, 1.6), "mnasnet": (32, 128, 1.6),
        "efficientnet-b0": (32, 128, 0.256), "efficientnet-b5": (32, 64, 0.128),
    }  # fmt: skip
    found = load_task_recipe(Path("imagenet") / name)
    workers, images, rate = paper[name]
    assert (found.training.workers, found.settings.images_per_worker) == (workers, images)
    assert found.training.learning_rate * workers * images / found.training.rate_images == pytest.approx(rate)
    assert found.training.warmup == 5


def test_no_folder_and_a_wrong_one_are_clear_errors(tmp_path):
    with pytest.raises(ValueError, match=r"no photos to train on: name a folder.*--data FOLDER"):
        recipe("").in_steps()
    with pytest.raises(ValueError, match="train"):
        recipe(tmp_path).in_steps()
    with pytest.raises(ValueError, match="images_per_worker"):
        PhotoSettings(images_per_worker=0)
    with pytest.raises(ValueError, match="held_out"):
        PhotoSettings(held_out=1.0)


def test_unreadable_photos_stop_a_run_or_are_skipped_and_told(tmp_path):
    folder = write_photos(tmp_path / "photos", train=8)
    broken = folder / "train" / "blue" / "blue3.JPEG"
    broken.write_bytes(broken.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"blue3\.JPEG.*skip"):
        train(recipe(folder), "bn-relu", kept_results(tmp_path))
    with pytest.warns(UserWarning, match="1 photos could not be read and were skipped so far: train/blue/blue3.JPEG"):
        found = train(recipe(folder, "settings.pictures.unreadable=skip"), "bn-relu", kept_results(tmp_path))
    assert found.ending == "reached"


def test_a_task_without_a_size_cannot_count_epochs():
    with pytest.raises(ValueError, match=r"does not say what an epoch is: give training\.steps"):
        load_task_recipe(Path("cifar10/resnet"), ["training.epochs=2"]).in_steps()


def test_loaders_and_cuts_change_nothing(photos, tmp_path):
    """Decoding in this process or in two others, straight or from a checkpoint: the same weights to the bit."""
    plain = recipe(photos).in_steps()
    whole = train(plain, "evonorm-b0", kept_results(tmp_path / "whole"))
    loaded = replace(plain, settings=replace(plain.settings, loaders=2))
    early = TrainingRun(PhotoTask("evonorm-b0", plain.settings, plain.training, plain.seed), plain.training, plain.seed)
    kept = kept_results(tmp_path / "cut")
    place = Checkpoint(kept.partial(plain.question("evonorm-b0")) / "run.pt")
    place.SECONDS = 0.0
    early.advance(4, measure=True, on_step=place.after_step)
    resumed = train(loaded, "evonorm-b0", kept)
    assert resumed.losses == whole.losses
    assert resumed.measured == whole.measured


def command(photos, keep, *more):
    words = ["train", "tiny-imagenet/mobilenetv2", "--layer", "evonorm-b0", "--data", str(photos), "--keep", str(keep)]
    return ["-m", "evonorm", *words, *(f"--set={change}" for change in (*SMALL, *more))]


ONE_CORE = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


@pytest.mark.slow
def test_kill_9_and_resume_on_two_ranks_is_the_undisturbed_run(photos, tmp_path):
    """One process with loaders is killed in the middle; torchrun goes on with two ranks: the same to the bit."""
    whole = train(recipe(photos, "training.epochs=8"), "evonorm-b0", kept_results(tmp_path / "whole"))
    slow = (
        "import time, sys, evonorm.training.checkpoint as c; c.Checkpoint.SECONDS = 0.0; import evonorm.cli;"
        "import evonorm.training.run as r; step = r.TrainingRun._step;"
        "r.TrainingRun._step = lambda self: (time.sleep(0.3), step(self))[1];"
        f"sys.argv = {command(photos, tmp_path / 'cut', 'training.epochs=8', 'settings.loaders=2')[1:]!r};"
        "evonorm.cli.main()"
    )
    partial = tmp_path / "cut" / "outcomes.jsonl.partial"
    with subprocess.Popen([sys.executable, "-c", slow], env=ONE_CORE, stderr=subprocess.DEVNULL) as victim:
        while not (found := list(partial.glob("*/run.pt"))) or torch.load(found[0], weights_only=True)["step"] < 5:
            assert victim.poll() is None
        os.kill(victim.pid, signal.SIGKILL)
    step = torch.load(found[0], weights_only=True)["step"]
    assert 5 <= step < 24
    ranks = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    words = command(photos, tmp_path / "cut", "training.epochs=8")
    done = subprocess.run([sys.executable, *ranks, *words], env=ONE_CORE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "kept in" in done.stdout
    assert done.stdout.count("kept in") == 1  # the first rank speaks for all
    resumed = train(recipe(photos, "training.epochs=8"), "evonorm-b0", kept_results(tmp_path / "cut"))
    assert resumed.losses == whole.losses
    assert resumed.measured == whole.measured
