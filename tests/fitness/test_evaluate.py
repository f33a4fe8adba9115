import importlib
import json
from dataclasses import replace

import pytest
import torch

from evonorm.fitness import FitnessRecipe, Progress, QualityRecipe, StabilityRecipe, evaluate
from evonorm.fitness.proxy_task import ProxyTask
from evonorm.graph import Graph
from evonorm.journal import Failed, Rejected, Scores, outcome_from_json, outcome_to_json
from evonorm.training import AverageRecipe, TrainingRecipe

pytest.importorskip("sklearn")

RECIPE = FitnessRecipe(
    data="digits",
    anchors=("resnet-nano",),
    threads=1,
    validation_images=64,
    moments="reestimated",
    moment_batches=2,
    quality=QualityRecipe(steps=2, accuracy=0.0),
    stability=StabilityRecipe(steps=1),
    training=TrainingRecipe(steps=4, validate_every=3),
)


def without_times(outcome):
    text = json.loads(json.dumps(outcome_to_json(outcome)))
    for stage in text["stages"]:
        stage["seconds"] = None
        stage["figures"].pop("seconds_per_step", None)
    return text


def test_a_layer_goes_through_every_stage_on_every_anchor_and_a_seed_repeats_it():
    recipe = replace(RECIPE, anchors=("resnet-nano", "efficientnet-nano"))
    outcome = evaluate(Graph.parse("x * sigmoid(x) / rms_whcg(x)"), recipe, seed=1)
    assert isinstance(outcome, Scores)
    assert list(outcome.accuracies) == list(recipe.anchors)
    assert [(stage.name, stage.anchor, stage.steps) for stage in outcome.stages] == [
        ("quality", "resnet-nano", 2),
        ("quality", "efficientnet-nano", 2),
        ("stability", "resnet-nano", 1),
        ("stability", "efficientnet-nano", 1),
        ("training", "resnet-nano", 2),
        ("training", "efficientnet-nano", 2),
    ]
    assert [step for step, _ in outcome.stages[-1].figures["curve"]] == [3, 4]
    assert outcome_from_json(json.loads(json.dumps(outcome_to_json(outcome)))) == outcome
    torch.manual_seed(77)
    again = evaluate("x * sigmoid(x) / rms_whcg(x)", recipe, seed=1)
    assert without_times(again) == without_times(outcome)


def test_survivors_of_the_quality_test_go_on_as_if_there_had_been_none():
    recipe = replace(RECIPE, quality=QualityRecipe(steps=2, accuracy=0.0))
    tested = evaluate("evonorm-b0", recipe, seed=0)
    task = ProxyTask("evonorm-b0", "resnet-nano", recipe, seed=0)
    task.run.advance(4)
    assert tested.accuracies["resnet-nano"] == task.validate()
    assert tested.stages[-1].figures["losses"] == [round(loss, 4) for loss in task.run.losses]


def test_a_low_accuracy_is_rejected_on_the_first_anchor():
    recipe = replace(RECIPE, anchors=("resnet-nano", "mobilenet-nano"), quality=QualityRecipe(2, accuracy=0.99))
    outcome = evaluate("bn-relu", recipe, seed=0)
    assert isinstance(outcome, Rejected)
    assert (outcome.test, outcome.anchor) == ("quality", "resnet-nano")
    assert 0 <= outcome.figures["accuracy"] < 0.99
    assert len(outcome.stages) == 1


def test_an_unstable_layer_is_rejected_with_the_step_and_the_norm():
    recipe = replace(RECIPE, stability=StabilityRecipe(steps=9, gradient_norm=20.0))
    outcome = evaluate("evonorm-b0", recipe, seed=0)
    assert isinstance(outcome, Rejected)
    assert outcome.test == "stability"
    assert outcome.figures["gradient_norm"] > 20
    assert 0 < outcome.figures["step"] < 9


def test_a_loss_that_is_not_finite_is_a_rejection_not_a_failure():
    outcome = evaluate(Graph.parse("exp(x)"), RECIPE, seed=0)
    assert isinstance(outcome, Rejected)
    assert outcome.figures["ending"] == "non_finite_loss"


def test_a_graph_that_never_reads_x_costs_nothing():
    outcome = evaluate(Graph.parse("exp(v1)"), RECIPE, seed=0)
    assert isinstance(outcome, Rejected)
    assert (outcome.test, outcome.stages) == ("free:reads-x", ())


def test_an_error_of_torch_is_a_failed_outcome(monkeypatch):
    def breaks(*_):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(importlib.import_module("evonorm.fitness.evaluate"), "_train", breaks)
    outcome = evaluate("bn-relu", RECIPE, seed=0)
    assert isinstance(outcome, Failed)
    assert "out of memory" in outcome.error
    assert [stage.name for stage in outcome.stages] == ["quality", "stability"]


def test_threads_and_generator_are_the_callers_again_and_progress_is_told():
    seen: list[Progress] = []
    before, state = torch.get_num_threads(), torch.get_rng_state()
    evaluate("bn-relu", replace(RECIPE, threads=2), seed=0, progress=seen.append)
    assert torch.get_num_threads() == before
    assert torch.equal(torch.get_rng_state(), state)
    assert [(each.stage, each.step, each.steps) for each in seen] == [
        ("quality", 1, 2),
        ("quality", 2, 2),
        ("stability", 0, 1),
        ("stability", 1, 1),
        ("training", 3, 4),
        ("training", 4, 4),
    ]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_an_interrupted_evaluation_repeats_no_stage_and_goes_on_within_one(tmp_path, elsewhere):
    recipe = replace(
        RECIPE,
        anchors=("resnet-nano", "mobilenet-nano"),
        training=TrainingRecipe(steps=6, schedule="cosine", validate_every=2),
    )

    def stop_in_the_second_training(event):
        if (event.stage, event.anchor, event.step) == ("training", "mobilenet-nano", 5):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate("evonorm-b0", recipe, seed=0, progress=stop_in_the_second_training, checkpoints=tmp_path)
    if elsewhere:  # checkpoints are large and stay behind
        for checkpoint in tmp_path.glob("*.pt"):
            checkpoint.unlink()
    seen = []
    resumed = evaluate("evonorm-b0", recipe, seed=0, progress=seen.append, checkpoints=tmp_path)
    steps = range(1, 7) if elsewhere else (5, 6)
    assert [(event.stage, event.anchor, event.step) for event in seen] == [
        ("training", "mobilenet-nano", step) for step in steps
    ]
    assert without_times(resumed) == without_times(evaluate("evonorm-b0", recipe, seed=0))


def test_a_test_that_turned_a_layer_down_is_not_taken_for_passed(tmp_path):
    recipe = replace(RECIPE, quality=QualityRecipe(2, accuracy=0.99))
    outcomes = [evaluate("bn-relu", recipe, seed=0, checkpoints=tmp_path) for _ in range(2)]
    assert all(isinstance(outcome, Rejected) for outcome in outcomes)


def test_the_test_pictures_are_read_only_when_asked_for(monkeypatch):
    assert "test_accuracy" in evaluate("bn-relu", RECIPE, seed=0, test_set=True).stages[-1].figures

    def forbidden(*_):
        raise AssertionError("the search looked at the test pictures")

    monkeypatch.setattr(ProxyTask, "test", forbidden)
    assert isinstance(evaluate("bn-relu", RECIPE, seed=0), Scores)


def test_layers_with_one_seed_see_the_same_pictures_and_first_weights():
    tasks = [ProxyTask(layer, "mobilenet-nano", RECIPE, seed=5) for layer in ("evonorm-s0", "evonorm-b0")]
    first, second = (task.batch(3, 0, 0) for task in tasks)
    assert torch.equal(first[0], second[0])
    convolutions = [[w for w in task.model.parameters() if w.ndim == 4] for task in tasks]
    assert all(torch.equal(a, b) for a, b in zip(*convolutions, strict=True))


def test_averaged_weights_decide_and_the_last_ones_are_told_beside_them():
    average = AverageRecipe(decay=0.5, start=2, ramp=False)
    recipe = replace(RECIPE, training=TrainingRecipe(steps=5, validate_every=0, clip=1.0, average=average))
    outcome = evaluate("evonorm-b0", recipe, seed=3, test_set=True)
    task = ProxyTask("evonorm-b0", "resnet-nano", replace(recipe, training=TrainingRecipe(steps=5, clip=1.0)), seed=3)
    mean = None
    for step in range(1, 6):
        task.run.advance(step)
        now = [parameter.detach().clone() for parameter in task.model.parameters()]
        mean = now if step <= 2 else [0.5 * old + 0.5 * new for old, new in zip(mean, now, strict=True)]
    figures = outcome.stages[-1].figures
    assert figures["last_accuracy"] == task.validate()
    assert figures["test_accuracy"] == task.test()
    with torch.no_grad():
        for parameter, value in zip(task.model.parameters(), mean, strict=True):
            parameter.copy_(value)
    assert figures["accuracy"] == outcome.accuracies["resnet-nano"] == task.validate()
    whole = task._whole(task.data.test, len(task.data.test))
    assert figures["averaged_test_accuracy"] == task.accuracy(5, whole, recipe.moment_batches)
    assert (
        figures["last_accuracy"] != figures["accuracy"] or figures["test_accuracy"] != figures["averaged_test_accuracy"]
    )
