"""The task of COCO: what it trains, what it measures, and that a stopped run goes on to the bit."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

import evonorm
from evonorm.cli.root import app
from evonorm.data import CocoPicture, Fit, load_coco
from evonorm.models import DetectorSettings
from evonorm.runner import kept_results, load_task_recipe
from evonorm.tasks import CocoSettings, CocoTask, FoundObjects, draw_objects, write_drawings
from evonorm.tasks.detect.found_objects import in_picture
from evonorm.training import TASKS, TrainingRecipe, TrainingRun, load_checkpoint, save_checkpoint
from tests.data.coco_tiny import COCO_TINY, EIGHT, needs_coco, needs_coco_tiny
from tests.data.test_coco import folder_with_rectangles

pytest.importorskip("torchvision")
pytestmark = needs_coco

FEW = DetectorSettings(regions=16, candidates=100, candidates_at_test=50, proposals=50)
SIX = ["box AP", "box AP50", "box AP75", "mask AP", "mask AP50", "mask AP75"]
BRIEF = TrainingRecipe(steps=4, learning_rate=0.01, workers=2, validate_every=2)


def small(folder, **changes):
    folder_with_rectangles(folder)
    settings = CocoSettings(
        model="maskrcnn-nano",
        data=str(folder),
        measured="train2017",
        image_size=64,
        images_per_worker=2,
        smallest_scale=0.5,
        largest_scale=2.0,
        detector=FEW,
    )
    return replace(settings, **changes)


def weights(model):
    return torch.cat([value.flatten().double() for value in model.state_dict().values()])


@pytest.mark.parametrize("layer", ["bn-relu", "evonorm-b0"])
def test_a_run_resumes_to_the_bit_and_measures_the_six_columns(tmp_path, layer):
    settings = small(tmp_path, moment_batches=1)
    straight, broken, resumed = (
        TrainingRun(CocoTask(layer, settings, BRIEF, seed), BRIEF, seed=0) for seed in (0, 0, 0)
    )
    straight.advance(4, measure=True)
    broken.advance(3, measure=True)
    save_checkpoint(broken, tmp_path / "run.pt")
    load_checkpoint(resumed, tmp_path / "run.pt")
    resumed.advance(4, measure=True)
    assert list(straight.measured) == SIX
    assert resumed.losses == straight.losses
    assert resumed.measured == straight.measured
    assert torch.equal(weights(resumed.task.model), weights(straight.task.model))


def test_kernels_are_decayed_and_nothing_else(tmp_path):
    task = CocoTask("bn-silu", small(tmp_path), BRIEF, seed=0)
    decayed = {name: p.ndim for name, p in task.model.named_parameters() if name not in task.turns[0].undecayed}
    assert set(decayed.values()) == {2, 4}
    assert all(name.endswith(".weight") for name in decayed)
    assert len(decayed) == sum(p.ndim > 1 for p in task.model.parameters())


def test_moments_estimated_anew_leave_the_moving_ones_and_the_callers_randomness_alone(tmp_path):
    task = CocoTask("evonorm-b0", small(tmp_path, moment_batches=2), BRIEF, seed=0)
    before = weights(task.model)
    torch.manual_seed(5)
    first = task.measure(0)
    assert torch.rand(1) == torch.rand(1, generator=torch.Generator().manual_seed(5))
    assert torch.equal(weights(task.model), before)
    assert task.measure(0) == first


def test_from_the_square_to_the_picture():
    """A picture of 200x100 in a square of 64: what the detector says is 3.125 times as large there."""
    picture = CocoPicture(7, Path("none.jpg"), 100, 200, ())
    masks = torch.zeros(3, 1, 28, 28)
    masks[:, :, :, :14] = 1  # the left half of each box
    found = {
        "boxes": torch.tensor([[16.0, 8, 32, 24], [0, 0, 64, 64], [10, 40, 20, 60]]),
        "labels": torch.tensor([3, 4, 5]),
        "scores": torch.tensor([0.9, 0.8, 0.7]),
        "masks": masks,
    }
    objects = in_picture(picture, Fit(32, 64), found)
    assert objects.labels.tolist() == [3, 4]  # the third lies below the picture, in the zeros
    assert objects.boxes.tolist() == [[50, 25, 100, 75], [0, 0, 200, 100]]
    rows, columns = torch.where(objects.masks[0])
    assert 24 <= rows.min() <= 26
    assert 73 <= rows.max() <= 75
    assert 49 <= columns.min() <= 51
    assert 73 <= columns.max() <= 76
    assert objects.results()[0]["bbox"] == [50, 25, 50, 50]


def test_what_decides_the_figures_is_the_content_and_not_the_place(tmp_path):
    first, second = small(tmp_path / "a"), small(tmp_path / "b", evaluation_batch=1)
    entry = TASKS.find("coco")
    assert entry.identity(first) == entry.identity(second)
    assert entry.identity(first)["data"] is None
    assert entry.size(first).samples == 3
    assert entry.identity(first) != entry.identity(small_with_another_picture(tmp_path / "c"))


def small_with_another_picture(folder):
    settings = small(folder)
    annotations = folder / "annotations" / "instances_train2017.json"
    annotations.write_text(annotations.read_text().replace('"flag"', '"ball"'))
    return settings


def test_drawings_show_boxes_masks_and_names(tmp_path):
    folder_with_rectangles(tmp_path)
    picture = load_coco(tmp_path).pictures[1]  # 120 x 200, black around a white flag
    masks = torch.zeros(2, 120, 200, dtype=torch.bool)
    masks[0, 50:90, 120:160] = True
    boxes = torch.tensor([[120.0, 50, 160, 90], [5, 5, 20, 20]])
    found = FoundObjects(picture, boxes, torch.tensor([7, 8]), torch.tensor([0.9, 0.3]), masks)
    drawn = draw_objects(found, {7: "flag"})
    tint = drawn[:, 80, 140]
    assert tint.max() > 40  # black before
    assert torch.equal(drawn[:, 10, 12], torch.zeros(3, dtype=torch.uint8))  # not sure enough to be drawn
    assert drawn[:, 70, 120].int().sum() > tint.int().sum()  # the outline
    (path,) = write_drawings([found], {7: "flag"}, tmp_path / "drawn")
    assert np.array_equal(np.asarray(Image.open(path)), drawn.permute(1, 2, 0).numpy())


def test_measuring_leaves_drawings(tmp_path):
    task = CocoTask("gn-relu", small(tmp_path), BRIEF, seed=0)
    assert task.illustrations() == {}
    task.measure(3)
    first = task.illustrations()
    assert len(first) == 3
    assert all(png.startswith(b"\x89PNG") for png in first.values())
    task.measure(3)  # of the last weights, where averaged ones came first: what those found stays
    assert task.illustrations() is first


def test_the_command_shows_what_an_unfinished_training_finds(tmp_path):
    settings = small(tmp_path / "data")
    keep, shown = tmp_path / "keep", tmp_path / "shown"
    changes = [f"settings.data={settings.data}", "settings.image_size=64", "settings.detector.regions=16"]
    recipe = load_task_recipe(Path("coco/tiny"), changes).in_steps()
    options = [str(each) for change in changes for each in ("--set", change)]
    command = ["show-detections", "coco/tiny", str(shown), "--layer", "gn-relu", "--keep", str(keep), *options]
    with pytest.raises(ValueError, match="neither the weights that it ended with"):
        CliRunner().invoke(app, command, catch_exceptions=False)
    run = TrainingRun(CocoTask("gn-relu", recipe.settings, recipe.training, recipe.seed), recipe.training, recipe.seed)
    run.advance(1)
    save_checkpoint(run, kept_results(keep).partial(recipe.question("gn-relu")) / "run.pt")
    result = CliRunner().invoke(app, [*command, "--pictures", "2", "--least-score", "0"], catch_exceptions=False)
    assert "gn-relu after 1 steps" in result.output
    assert len(list(shown.glob("*.png"))) == 2


@pytest.mark.parametrize("name", ["r50-fpn", "spinenet96", "tiny"])
def test_recipes_are_read(name):
    recipe = load_task_recipe(Path(f"coco/{name}"))
    assert recipe.task == "coco"
    assert recipe.settings.model in evonorm.model_names()


def test_the_papers_recipes():
    """Appendix "Implementation Details" and the SpineNet code's yaml."""
    first, second = (load_task_recipe(Path(f"coco/{name}")) for name in ("r50-fpn", "spinenet96"))
    assert (first.training.workers, first.settings.images_per_worker, first.settings.image_size) == (8, 8, 1024)
    rates = [first.training.learning_rate_at(step) for step in (0, 250, 119_999, 120_000, 125_000)]
    assert rates == pytest.approx([0.0067, (0.0067 + 0.1) / 2, 0.1, 0.01, 0.001], rel=1e-2)
    assert (first.training.steps, first.training.weight_decay) == (135_000, 4e-5)
    assert second.training.workers * second.settings.images_per_worker == 256
    rates = [second.training.learning_rate_at(step) for step in (0, 1000, 148_159, 148_160, 157_420)]
    assert rates == pytest.approx([0.0067, (0.0067 + 0.28) / 2, 0.28, 0.028, 0.0028], rel=1e-2)
    assert first.training.optimizer == second.training.optimizer == "momentum"
    assert (second.settings.smallest_scale, second.settings.largest_scale) == (0.5, 2.0)


def test_bad_settings():
    for bad in ({"image_size": 0}, {"moment_batches": -1}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            CocoSettings(**bad)
    with pytest.raises(ValueError, match="scales must be positive and go up"):
        CocoSettings(smallest_scale=2.0, largest_scale=1.0)


@pytest.mark.slow
def test_two_ranks_train_and_measure_as_one_process_does(tmp_path):
    settings = small(tmp_path / "data")
    changes = [f"settings.data={settings.data}", "settings.image_size=64", "training.workers=2", "training.steps=4"]
    changes += ["settings.images_per_worker=2", "training.boundaries=[3]", "training.validate_every=2"]
    changes += ["settings.detector.regions=16", "settings.detector.least_score=0.0"]
    options = [each for change in changes for each in ("--set", change)]
    train = ["-m", "evonorm", "train", "coco/tiny", "--layer", "evonorm-b0", *options, "--keep"]
    ranks = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    answers = []
    for name, command in (("one", train), ("two", [*ranks, *train])):
        place = tmp_path / name
        command = [sys.executable, "-W", "ignore", *command, str(place)]
        subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[2])
        answers.append(next(kept_results(place).records())["answer"])
    assert answers[0]["measured"]["box AP"][0][0] == 2
    assert answers[1]["losses"] == pytest.approx(answers[0]["losses"], rel=1e-4)
    for name, curve in answers[0]["measured"].items():
        assert answers[1]["measured"][name] == [pytest.approx(point, abs=0.02) for point in curve]


@pytest.mark.slow
@needs_coco_tiny
@pytest.mark.parametrize("layer", ["bn-relu", "gn-relu", "evonorm-b0", "evonorm-s0"])
def test_eight_real_pictures_are_learnt_by_heart(layer):
    """Boxes and masks of 22 objects: everything between a JPEG file and COCO's evaluator must be right for this."""
    changes = [f"settings.data={COCO_TINY}", f"settings.only={list(EIGHT)}"]
    recipe = load_task_recipe(Path("coco/tiny"), changes).in_steps()
    task = CocoTask(layer, recipe.settings, recipe.training, recipe.seed)
    run = TrainingRun(task, recipe.training, recipe.seed)
    assert run.advance(recipe.training.steps) == "reached"
    measured = {each.name: each.value for each in task.measure(run.step)}
    assert measured["box AP"] > 0.9
    assert measured["mask AP"] > 0.6
