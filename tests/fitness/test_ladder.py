from dataclasses import replace

import pytest

from evonorm.fitness import FitnessRecipe, QualityRecipe, Rung, StabilityRecipe, evaluate
from evonorm.fitness.ladder import running_loss
from evonorm.fitness.proxy_task import ProxyTask
from evonorm.journal import Scores
from evonorm.training import TrainingRecipe

pytest.importorskip("sklearn")

PLAIN = FitnessRecipe(
    data="digits",
    anchors=("resnet-nano", "mobilenet-nano"),
    threads=1,
    validation_images=64,
    moments="reestimated",
    moment_batches=1,
    quality=QualityRecipe(steps=3, accuracy=0.0),
    stability=StabilityRecipe(steps=1),
    training=TrainingRecipe(steps=4, validate_every=0),
)
LADDER = replace(
    PLAIN,
    ladder=(
        Rung(("resnet-nano",), steps=1),
        Rung(("resnet-nano",), steps=2),
        Rung(("resnet-nano", "mobilenet-nano"), steps=4),
    ),
)


def test_a_ladder_changes_what_is_paid_for_and_not_what_comes_out():
    climbed, plain = (evaluate("evonorm-s0", recipe, seed=1) for recipe in (LADDER, PLAIN))
    assert isinstance(climbed, Scores)
    assert climbed.accuracies == plain.accuracies
    steps = {recipe: {} for recipe in ("climbed", "plain")}
    for name, outcome in (("climbed", climbed), ("plain", plain)):
        for stage in outcome.stages:
            if stage.name != "stability":
                steps[name][stage.anchor] = steps[name].get(stage.anchor, 0) + stage.steps
    assert steps["climbed"] == steps["plain"] == {"resnet-nano": 4, "mobilenet-nano": 4}


def test_rungs_come_first_and_carry_on():
    outcome = evaluate("evonorm-s0", LADDER, seed=1)
    assert [(stage.label, stage.anchor, stage.steps) for stage in outcome.stages[:4]] == [
        ("rung 1", "resnet-nano", 1),
        ("rung 2", "resnet-nano", 1),
        ("rung 3", "resnet-nano", 2),
        ("rung 3", "mobilenet-nano", 4),
    ]
    assert all({"accuracy", "running_loss"} <= set(stage.figures) for stage in outcome.stages[:4])


def test_a_rung_may_bring_the_stability_test_forward():
    early = replace(LADDER, ladder=(replace(LADDER.ladder[0], stability=True), *LADDER.ladder[1:]))
    sooner, later = (evaluate("evonorm-s0", recipe, seed=1) for recipe in (early, LADDER))
    assert sooner.accuracies == later.accuracies
    assert [stage.label for stage in sooner.stages[:4]] == ["rung 1", "stability", "stability", "rung 2"]
    figures = [[s.figures for s in outcome.stages if s.name == "stability"] for outcome in (sooner, later)]
    assert figures[0] == figures[1]
    strict = replace(early, stability=StabilityRecipe(steps=1, gradient_norm=1e-9))
    outcome = evaluate("evonorm-s0", strict, seed=1)
    assert (outcome.test, outcome.anchor) == ("stability", "resnet-nano")
    assert [stage.label for stage in outcome.stages] == ["rung 1", "stability"]


def test_who_misses_the_gate_is_told_on_which_anchor():
    strict = replace(PLAIN, ladder=(Rung(("mobilenet-nano", "resnet-nano"), steps=1, gate=1.0),))
    outcome = evaluate("evonorm-s0", strict, seed=1)
    assert (outcome.verdict.label, outcome.anchor, outcome.figures["gate"]) == ("rung 1", "mobilenet-nano", 1.0)
    assert len(outcome.stages) == 1


def test_a_run_that_blows_up_is_turned_down_whatever_the_gate():
    outcome = evaluate("exp(exp(exp(exp(x))))", LADDER, seed=1)
    assert (outcome.verdict.label, outcome.figures["ending"]) == ("rung 1", "non_finite_loss")


def test_no_model_is_made_before_its_rung(monkeypatch):
    made = []
    make = ProxyTask.__init__
    monkeypatch.setattr(
        ProxyTask,
        "__init__",
        lambda self, layer, anchor, *rest: (made.append(anchor), make(self, layer, anchor, *rest))[1],
    )
    first, *rest = LADDER.ladder
    evaluate("evonorm-s0", replace(LADDER, ladder=(replace(first, gate=1.0), *rest)), seed=1)
    assert made == ["resnet-nano"]


def test_the_running_loss_forgets():
    assert running_loss([5.0]) == 5.0
    assert running_loss([5.0] + [1.0] * 100) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    ("ladder", "message"),
    [
        ([{"anchors": ["resnet-giga"], "steps": 1}], "there is no anchor 'resnet-giga'"),
        ([{"anchors": [], "steps": 1}], "a rung has anchors"),
        ([{"anchors": ["resnet-nano"], "steps": 0}], "at least 1 step"),
        ([{"anchors": ["resnet-nano"], "steps": 1, "gate": 2.0}], "gate must lie in 0 to 1"),
        ([{"anchors": ["resnet-nano"], "steps": 9}], "must go up to training.steps"),
        ([{"anchors": ["resnet-nano"], "steps": s} for s in (3, 2)], "2 comes after 3"),
        ([{"anchors": ["resnet-nano"], "stepps": 2}], "unknown key 'stepps'. Did you mean 'steps'"),
    ],
)
def test_impossible_ladders_are_refused(ladder, message):
    from evonorm.runner.settings import read_settings

    table = {"quality": {"steps": 1}, "training": {"steps": 4}, "ladder": ladder}
    with pytest.raises(ValueError, match=message):
        read_settings(FitnessRecipe, table, "test")
