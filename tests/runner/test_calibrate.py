"""Which trainings a calibration needs, that none is done twice, and what its tables say; training itself is faked."""

import math
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from evonorm.fitness import FitnessRecipe, QualityRecipe, Rung, StabilityRecipe, screen
from evonorm.fitness.evaluate import evaluate
from evonorm.graph import CATALOG, Graph
from evonorm.journal.kept import key_of
from evonorm.runner import calibrate
from evonorm.runner.calibrate import (
    Level,
    cheap_trials,
    kept_curves,
    levels_of,
    measure,
    random_survivors,
    seconds_left,
    target_trials,
    trial_question,
)
from evonorm.runner.calibration_tables import (
    Calibration,
    correlation_rows,
    level_rows,
    score_rows,
    turned_down,
    what_if_rows,
)
from evonorm.runner.calibration_trial import Curve, Look, Trial, train_curve
from evonorm.runner.surroundings import kept_results
from evonorm.training import Checkpoint, TrainingRecipe

CHEAP = FitnessRecipe(
    data="digits",
    anchors=("resnet-nano", "mobilenet-nano"),
    threads=1,
    validation_images=64,
    moments="reestimated",
    moment_batches=1,
    quality=QualityRecipe(steps=3, accuracy=0.2),
    training=TrainingRecipe(steps=4, validate_every=0),
    ladder=(Rung(("mobilenet-nano",), steps=2, gate=0.3),),
)
TARGET = replace(CHEAP, anchors=("resnet-nano",), training=TrainingRecipe(steps=6), ladder=(), moments="moving")
LAYERS = ("bn-relu", "evonorm-b0", "evonorm-s0", "gn-relu")


def goodness(layer):
    return 0.1 + 0.2 * LAYERS.index(layer)


def fake(trial, recipe, checkpoint, on_step):
    """The target orders layers as LAYERS does; the cheap side does so from step 3 on, and the other way before."""
    on_step(1)
    sign = -1 if trial.side == "cheap" and trial.anchor == "mobilenet-nano" else 1
    looks = tuple(
        Look(step, goodness(trial.layer) if step >= 3 else 0.5 + sign * goodness(trial.layer) / 2, 3 - step / 10)
        for step in trial.looks
    )
    return Curve(trial, looks, max(trial.looks), 0.5 * max(trial.looks))


def work(seeds=(0,)):
    cheap = [(trial, CHEAP) for trial in cheap_trials(LAYERS, CHEAP, seeds)]
    return cheap + [(trial, TARGET) for trial in target_trials(LAYERS, TARGET, 5, seeds)]


def calibration(curves):
    kinds = {"named": LAYERS[:2], "random": LAYERS[2:]}
    return Calibration(kinds, levels_of(CHEAP), Level("target", TARGET.anchors, 5), tuple(curves))


def test_every_stage_of_a_recipe_is_looked_at_on_every_anchor():
    assert [(level.name, level.anchors, level.steps) for level in levels_of(CHEAP)] == [
        ("rung 1", ("mobilenet-nano",), 2),
        ("quality", ("resnet-nano", "mobilenet-nano"), 3),
        ("training", ("resnet-nano", "mobilenet-nano"), 4),
    ]
    trials = cheap_trials(LAYERS, CHEAP, [0, 1])
    assert {trial.looks for trial in trials} == {(2, 3, 4)}
    assert len(trials) == len(set(trials)) == len(LAYERS) * 2 * 2
    assert [trial.anchor for trial in trials[:5]] == ["mobilenet-nano"] * 4 + ["resnet-nano"]
    assert levels_of(replace(CHEAP, ladder=()))[0].name == "quality"


def test_nothing_is_trained_twice_and_a_stop_loses_nothing_that_was_done(tmp_path):
    trained = []

    def once(trial, *rest):
        if len(trained) == 5 and trial not in trained:
            raise KeyboardInterrupt
        trained.append(trial)
        return fake(trial, *rest)

    with pytest.raises(KeyboardInterrupt):
        list(measure(work(), kept_results(tmp_path), once))
    assert len(trained) == 5
    whole = [curve for curve, _ in measure(work(), kept_results(tmp_path), fake)]
    assert [curve for curve, _ in measure(work(), kept_results(tmp_path), once)] == whole
    assert len(trained) == 5
    assert whole == [fake(trial, None, None, lambda _: None) for trial, _ in work()]


def test_a_result_serves_every_recipe_that_would_train_the_same():
    trial = cheap_trials(LAYERS, CHEAP, [0])[0]
    key = key_of(trial_question(trial, CHEAP))
    same = (
        replace(CHEAP, quality=QualityRecipe(2, 0.9)),
        replace(CHEAP, ladder=(Rung(("mobilenet-nano",), steps=2, gate=0.5),)),
        replace(CHEAP, training=TrainingRecipe(steps=4, validate_every=1)),
        replace(CHEAP, training=TrainingRecipe(steps=400, validate_every=0)),
    )
    other = (
        replace(CHEAP, threads=2),
        replace(CHEAP, validation_images=65),
        replace(CHEAP, training=TrainingRecipe(steps=4, learning_rate=0.03)),
        replace(CHEAP, training=TrainingRecipe(steps=4, schedule="cosine")),
    )
    assert {key_of(trial_question(trial, recipe)) for recipe in same} == {key}
    assert key not in {key_of(trial_question(trial, recipe)) for recipe in other}
    assert key_of(trial_question(replace(trial, layer="x"), CHEAP)) != key
    assert key_of(trial_question(replace(trial, seed=1), CHEAP)) != key
    assert key_of(trial_question(replace(trial, side="target"), CHEAP)) == key, "who asks does not matter"


@pytest.mark.slow
def test_workers_train_the_same_curves(tmp_path):
    pytest.importorskip("sklearn")
    trials = [each for each in work() if each[0].layer in LAYERS[:2]][:3]
    here = [curve for curve, _ in measure(trials, kept_results(tmp_path / "here"))]
    there = [curve for curve, _ in measure(trials, kept_results(tmp_path / "there"), workers=2)]
    assert {(each.trial, each.looks, each.losses) for each in there} == {
        (each.trial, each.looks, each.losses) for each in here
    }
    again = [curve for curve, _ in measure(trials, kept_results(tmp_path / "there"), broken_training, workers=0)]
    assert sorted(map(str, again)) == sorted(map(str, there))


def broken_training(*_):
    raise AssertionError("this was known already")


def test_a_worker_that_breaks_is_told_and_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("evonorm.runner.calibration_trial.TRIAL_TASK", "os:abort")
    ((curve, _),) = measure(work()[:1], kept_results(tmp_path), workers=1)
    assert curve.error.startswith("error: ")
    assert not kept_curves(kept_results(tmp_path))


def test_half_a_line_is_no_result(tmp_path):
    (first, _), (second, _) = measure(work()[:2], kept_results(tmp_path), fake)
    file = kept_results(tmp_path).path
    file.write_bytes(file.read_bytes()[:-9])  # a power cut while the second was written
    assert kept_curves(kept_results(tmp_path)) == [first]
    assert [curve for curve, _ in measure(work()[:2], kept_results(tmp_path), fake)] == [first, second]
    assert kept_curves(kept_results(tmp_path)) == [first, second]


def test_a_target_cannot_be_longer_than_its_recipe():
    with pytest.raises(ValueError, match="must lie in 1 to its recipe's 6, got 7"):
        target_trials(LAYERS, TARGET, 7, [0])


def test_time_left_goes_by_the_anchor():
    def curve(anchor, steps, seconds):
        return Curve(Trial("cheap", "x", anchor, 0, (steps,)), (), steps, seconds)

    left = [Trial("cheap", "v1 * x", "resnet-nano", 0, (5, 20)), Trial("cheap", "v1 * x", "mobilenet-nano", 0, (10,))]
    done = [curve("resnet-nano", 10, 5.0), curve("mobilenet-nano", 10, 20.0), curve("resnet-nano", 10, 7.0)]
    assert seconds_left(done, left) == pytest.approx(20 * 0.6 + 10 * 2.0)
    unknown = seconds_left(done[:1], [Trial("target", "x", "resnet50-cifar", 0, (20,))])
    assert unknown > 20 * 0.5  # a larger net and batch
    assert math.isnan(seconds_left([], left))


def test_random_survivors_are_new_functions_that_pass_the_checks():
    formulas = random_survivors(6, seed=3)
    assert formulas == random_survivors(6, seed=3) != random_survivors(6, seed=4)
    known = {screen(Graph.parse(entry.formula)).fingerprint for entry in CATALOG.values() if entry.formula}
    functions = {screen(Graph.parse(formula)).fingerprint for formula in formulas}
    assert len(functions) == 6
    assert None not in functions
    assert not functions & known


def test_random_survivors_reach_the_first_gate(tmp_path):
    asked = []

    def learns_with_a_moment(trial, *_):
        asked.append(trial)
        accuracy = 0.3 if "std" in trial.layer or "rms" in trial.layer else 0.05
        return Curve(trial, (Look(2, accuracy, 2.0),), 2, 0.1)

    def passes(layer):
        return calibrate.passes_first_gate(layer, CHEAP, kept_results(tmp_path), learns_with_a_moment)

    found = random_survivors(2, 3, passes)
    assert len(found) == 2
    assert all("std" in layer or "rms" in layer for layer in found)
    assert {(trial.anchor, trial.looks) for trial in asked} == {("mobilenet-nano", (2,))}
    number = len(asked)
    assert random_survivors(2, 3, passes) == found
    assert len(asked) == number, "what was asked is kept"


def test_the_tables_tell_a_stage_that_predicts_from_one_that_misleads(tmp_path):
    found = calibration(curve for curve, _ in measure(work(), kept_results(tmp_path), fake))
    rows = {(row[0], row[1], row[2], row[3]): row[4:] for row in correlation_rows(found)}
    assert rows["rung 1, 2 steps", "accuracy", "all", "mean"][:2] == ["4", "-1.00 (n = 4)"]
    assert rows["quality, 3 steps", "accuracy", "all", "resnet-nano"][1] == "1.00 (n = 4)"
    assert rows["training, 4 steps", "accuracy", "named", "mean"][0] == "2"
    assert rows["training, 4 steps", "running loss", "all", "mean"][1] == "-"  # the fake's loss is the same for all
    assert [row[0] for row in score_rows(found)] == list(reversed(LAYERS))
    two, *_ = what_if_rows(found)
    assert [cell[:5] for cell in two[:3]] == ["2", "-1.00", "1.00 "]


def test_the_tables_tell_whom_a_stage_would_lose(tmp_path):
    found = calibration(curve for curve, _ in measure(work(), kept_results(tmp_path), fake))
    rung, quality, training = levels_of(CHEAP)
    assert turned_down(found, rung) == {"evonorm-s0", "gn-relu"}  # the worse half, upside down
    assert turned_down(found, quality) == {"bn-relu"}  # by its gate
    assert turned_down(found, training) == set()
    assert [row[-2:] for row in level_rows(found)] == [
        ["0 of 1", "1 of 1"],
        ["1 of 1", "0 of 1"],
        ["1 of 1", "0 of 1"],
    ]
    assert [row[3] for row in level_rows(found)] == ["1.0", "3.0", "4.0"]


def test_a_calibration_that_is_not_finished_has_its_tables_too(tmp_path):
    curves = [curve for curve, _ in measure(work(), kept_results(tmp_path), fake)]
    broken = [replace(curves[-1], error="RuntimeError: no memory"), *curves[:-1]]
    assert {row[4] for row in correlation_rows(calibration(broken)) if row[2] == "all"} == {"3"}
    only_cheap = calibration(curve for curve in curves if curve.trial.side == "cheap")
    assert {row[4] for row in correlation_rows(only_cheap)} == {"0"}
    assert {row[-1] for row in level_rows(only_cheap)} == {"0 of 0"}
    assert {row[-1] for row in score_rows(only_cheap)} == {"-"}


def test_a_run_that_blew_up_is_last_by_either_figure(tmp_path):
    def blown(trial, *rest):
        curve = fake(trial, *rest)
        looks = tuple(Look(look.step, None, None) for look in curve.looks)
        return replace(curve, looks=looks) if trial.layer == "gn-relu" else curve

    found = calibration(curve for curve, _ in measure(work(), kept_results(tmp_path), blown))
    training = levels_of(CHEAP)[-1]
    assert found.on_level("gn-relu", training) == 0.0
    assert found.on_level("gn-relu", training, "running loss") == -math.inf
    assert score_rows(found)[-1][0] == "gn-relu"


def test_a_real_training_agrees_with_the_protocols_own(tmp_path):
    pytest.importorskip("sklearn")
    trial = Trial("cheap", "evonorm-s0", "resnet-nano", 1, (2, 4))
    curve = train_curve(trial, calibrate.recipe_of(trial, CHEAP), None, lambda _: None)
    plain = replace(
        CHEAP, anchors=("resnet-nano",), quality=QualityRecipe(2, 0.0), stability=StabilityRecipe(0), ladder=()
    )
    outcome = evaluate("evonorm-s0", plain, seed=1)
    assert [look.accuracy for look in curve.looks] == [
        outcome.stages[0].figures["accuracy"],
        outcome.accuracies["resnet-nano"],
    ]
    assert curve.steps == 4
    blown = Trial("cheap", "exp(exp(exp(x)))", "resnet-nano", 1, (2, 4))
    curve = train_curve(blown, calibrate.recipe_of(blown, CHEAP), None, lambda _: None)
    assert curve.looks == (Look(2, None, None), Look(4, None, None))


def test_a_killed_training_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setattr(Checkpoint, "SECONDS", 0.0)
    trial = Trial("cheap", "evonorm-b0", "resnet-nano", 0, (2, 3, 5))
    recipe, place = calibrate.recipe_of(trial, CHEAP), tmp_path / "trial.pt"
    whole = train_curve(trial, recipe, None, lambda _: None)
    told = []

    def killed_at_five(step):
        told.append(step)
        if step == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_curve(trial, recipe, place, killed_at_five)
    again = train_curve(trial, recipe, place, told.append)
    assert told == [1, 2, 3, 4, 5, 5]  # the checkpoint of step 4 was used
    assert again.looks == whole.looks
    assert again.steps == 5


@pytest.mark.slow
def test_the_command_survives_a_kill(tmp_path):
    pytest.importorskip("sklearn")
    command = [sys.executable, "-m", "evonorm", "calibrate", "bn-relu", "evonorm-s0", "--random", "1", "--mutants", "1"]
    command += ["--recipe", "recipes/smoke.toml", "--target", "recipes/smoke.toml", "--target-steps", "4"]
    command += ["--keep", str(tmp_path)]
    process = subprocess.Popen([*command, "--only", "cheap"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for line in process.stdout:
        if line.startswith(b"3/12"):
            os.kill(process.pid, signal.SIGKILL)
            break
    process.communicate()
    before = kept_results(tmp_path).path.read_bytes()
    assert before.count(b'"side": "cheap"') >= 3
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Rank correlation with the target" in done.stdout
    after = kept_results(tmp_path).path.read_bytes()
    assert after.startswith(before)
    assert len({curve.trial for curve in kept_curves(kept_results(tmp_path))}) == after.count(b"\n"), "none twice"
    assert not list(tmp_path.glob("*.partial"))
    text = (tmp_path / "calibration.md").read_text()
    assert "n = 4 layers (2 named, 1 random, 1 mutants), 1 seed(s)" in text
    assert "| evonorm-s0 |" in text
