"""Reranking: who is trained, on what, in which order they come out; and lists of trainings that go on."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evonorm.journal import Failed, RunFolder, import_journal
from evonorm.runner import (
    Reranked,
    Rivals,
    Trained,
    Training,
    agreement_of_seeds,
    kept_results,
    rerank,
    rerank_recipes,
    rivals_of,
    train_all,
)
from tests.tasks.photo_folder import write_photos

pytest.importorskip("torchvision")
ROOT = Path(__file__).parents[2]
SMALL = ["settings.model=mobilenet-nano", "settings.images_per_worker=8", "settings.pictures.size=32", "threads=1"]


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return write_photos(tmp_path_factory.mktemp("photos"), train=20)


@pytest.fixture(scope="module")
def recipes(photos):
    return rerank_recipes("tiny-imagenet", photos, SMALL, epochs=1)


def test_the_best_functions_of_a_run_each_once_and_its_references(tmp_path):
    folder = RunFolder(tmp_path, "b")
    folder.path.mkdir()
    import_journal(ROOT / "studies" / "search" / "b-evolution.evonorm", folder.journal)
    rivals = rivals_of(folder, 10)
    assert len(set(rivals.found)) == 10
    assert rivals.found[0] == "x / (std_bwh(abs(abs(x))) / max(tanh(sigmoid(x)), v0))"
    assert rivals.references == ("bn-relu", "evonorm-b0")


def test_recipes_hold_photos_out_and_keep_their_shape_at_another_length(photos, recipes):
    assert list(recipes) == ["resnet50", "mobilenetv2", "efficientnet-b0"]
    for recipe in recipes.values():
        assert len(recipe.settings.photos.training) == 54
        assert len(recipe.settings.photos.measured) == 6
        assert recipe.training.steps == 6  # one epoch of 54, 8 at a time
    assert recipes["resnet50"].training.warmup == pytest.approx(1 / 8)
    official = rerank_recipes("imagenet", photos, [*SMALL, "training.workers=1"], epochs=9)["resnet50"].training
    assert official.boundaries == pytest.approx((3, 6, 8))
    with pytest.raises(ValueError, match="validation photos"):
        rerank_recipes("tiny-imagenet", photos, ["settings.held_out=0"])


def test_everybody_is_trained_once_and_the_best_comes_first(recipes, tmp_path):
    rivals = Rivals(("x * sigmoid(x) / rms_whcg(x)", "x / rms_bwh(x)"), ("bn-relu",))
    told = []
    rows = rerank(rivals, recipes, kept_results(tmp_path), workers=0, on_found=lambda *each: told.append(each))
    assert {row.layer: row.place for row in rows} == {**{f: i for i, f in enumerate(rivals.found, 1)}, "bn-relu": None}
    assert [row.mean for row in rows] == sorted((row.mean for row in rows), reverse=True)
    assert len(told) == 9
    assert all(row.seconds > 0 and set(row.accuracies) == set(recipes) for row in rows)
    again = rerank(rivals, recipes, kept_results(tmp_path), workers=0, on_found=lambda *each: told.append(each))
    assert again == rows
    assert len(told) == 9


def test_seeds_are_averaged_and_tell_whether_the_order_is_noise(recipes, tmp_path):
    rivals = Rivals(("x * sigmoid(x) / rms_whcg(x)",), ("bn-relu",))
    small = {"mobilenetv2": recipes["mobilenetv2"]}
    told = []
    (one, _) = rerank(rivals, small, kept_results(tmp_path), workers=0)
    both = rerank(rivals, small, kept_results(tmp_path), 0, on_found=lambda *each: told.append(each), seeds=2)
    assert [training.recipe.seed for training, _ in told] == [1, 1], "the first seed is not trained again"
    again = next(row for row in both if row.layer == one.layer)
    assert again.by_seed[0] == one.by_seed[0]
    assert again.mean == pytest.approx(sum(each["mobilenetv2"] for each in again.by_seed) / 2)


def test_agreement_of_seeds_is_one_for_an_order_that_holds_and_not_defined_for_one_seed():
    def row(place, *means):
        return Reranked(f"layer {place}", place, tuple({"a": mean, "b": mean} for mean in means), 1.0)

    firm = [row(place, 0.1 * place, 0.1 * place + 0.02) for place in range(8)]
    assert agreement_of_seeds(firm).value == pytest.approx(1)
    noise = [row(place, (5 * place % 8) / 8, (3 * place % 8) / 8) for place in range(8)]
    assert agreement_of_seeds(noise).low < 0
    assert math.isnan(agreement_of_seeds([row(1, 0.3), row(2, 0.4)]).value)


def test_workers_give_what_this_process_gives(recipes, tmp_path):
    chosen = Training("evonorm-s0", recipes["mobilenetv2"])
    here = train_all([chosen], kept_results(tmp_path / "here"), workers=0)[chosen]
    stages = []
    there = train_all([chosen], kept_results(tmp_path / "there"), 1, lambda *each: stages.append(each))[chosen]
    assert isinstance(there, Trained)
    assert (there.losses, there.measured) == (here.losses, here.measured)
    assert stages[0][0] == chosen
    assert stages[0][1]["steps"] == 6
    assert not list((tmp_path / "there").glob("*.partial"))


def test_a_training_that_fails_is_told_not_kept_and_costs_no_other(recipes, tmp_path):
    good, kept = Training("evonorm-s0", recipes["mobilenetv2"]), kept_results(tmp_path)
    bad = Training("evonorm-s0", replace(good.recipe, settings=replace(good.recipe.settings, model="no-such-net")))
    found = train_all([bad, good], kept, workers=0)
    assert isinstance(found[bad], Failed)
    assert "no-such-net" in found[bad].error
    assert isinstance(found[good], Trained)
    assert kept.find(bad.question) is None
    (row,) = rerank(Rivals(("evonorm-s0",), ()), {"good": good.recipe, "bad": bad.recipe}, kept, workers=0)
    assert row.accuracies == {"good": found[good].result, "bad": 0.0}
    assert row.notes == ("bad: failed (error)",)


def test_a_loss_that_is_no_number_counts_with_what_was_reached(recipes, tmp_path):
    """Overflows in the second step: measured as it stood after the first, and said."""
    wild = replace(
        recipes["mobilenetv2"], training=replace(recipes["mobilenetv2"].training, learning_rate=1e30, warmup=0)
    )
    (row,) = rerank(Rivals(("x",), ()), {"wild": wild}, kept_results(tmp_path), workers=0)
    assert row.notes[0].startswith("wild: non finite loss at step ")
    assert 0 <= row.accuracies["wild"] <= 1


def test_the_command_line_reranks_a_run_and_leaves_val_alone(photos, tmp_path):
    folder = RunFolder(tmp_path, "b")
    folder.path.mkdir()
    import_journal(ROOT / "studies" / "search" / "b-evolution.evonorm", folder.journal)
    words = ["rerank", "b", "--runs", str(tmp_path), "--data", str(photos), "--recipes", "tiny-imagenet", "--top", "1"]
    words += ["--epochs", "0.4", "--seeds", "2", "--workers", "0", *(f"--set={each}" for each in SMALL)]
    command = [sys.executable, "-c", "from evonorm.cli import main; main()", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "x / (std_bwh(abs(abs(x))) / max(tanh(sigmoid(x)), v0))" in done.stdout
    assert "reference" in done.stdout
    assert "means of 2 trainings each" in done.stdout
    assert "Rank correlation between seeds over the 3 layers" in done.stdout
    records = [json.loads(line) for line in (folder.path / "rerank" / "outcomes.jsonl").read_text().splitlines()]
    assert len(records) == 18
    val = rerank_recipes("tiny-imagenet", photos, SMALL)["resnet50"].settings.photos.folder.validation.fingerprint[:16]
    assert all(record["question"]["settings"]["photos"]["measured"] != val for record in records)
    missing = subprocess.run([*command[:-1], "--top", "0"], capture_output=True, text=True, check=False, cwd=ROOT)
    assert missing.returncode == 2
