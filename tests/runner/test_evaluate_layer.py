import contextlib
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from evonorm.fitness import FitnessRecipe, QualityRecipe, StabilityRecipe
from evonorm.fitness.stage_log import StageLog
from evonorm.journal import Failed, Rejected, Scores, Stage, outcome_from_json
from evonorm.journal.kept import key_of
from evonorm.runner import evaluate_layer, verdicts
from evonorm.runner.evaluate_layer import Measurement, check_layers, evaluate_layers, summary_notes, summary_rows
from evonorm.runner.surroundings import commit, kept_results
from evonorm.training import TrainingRecipe

RECIPE = FitnessRecipe(
    data="digits",
    anchors=("resnet-nano",),
    threads=1,
    validation_images=32,
    quality=QualityRecipe(steps=1, accuracy=0.0),
    stability=StabilityRecipe(steps=1),
    training=TrainingRecipe(steps=2),
)


def forbidden(*_, **__):
    raise AssertionError("this was known already")


def test_kept_outcomes_are_not_measured_again(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    first = evaluate_layers(["bn-relu"], RECIPE, [0], kept=kept_results(tmp_path))
    assert [path.name for path in tmp_path.rglob("*")] == ["outcomes.jsonl"]
    (record,) = kept_results(tmp_path).records()
    assert record["commit"] == commit()
    assert record["versions"]["torch"]
    assert record["question"]["recipe"]["training"] == {"steps": 2}  # the defaults go without saying
    monkeypatch.setattr(evaluate_layer, "evaluate", forbidden)
    assert evaluate_layers(["bn-relu"], RECIPE, [0], kept=kept_results(tmp_path)) == first
    assert evaluate_layers(["bn-relu"], RECIPE, [0], kept=kept_results(tmp_path / "outcomes.jsonl")) == first
    with pytest.raises(AssertionError):
        evaluate_layers(["bn-relu"], RECIPE, [1], kept=kept_results(tmp_path))


def test_workers_measure_the_same_and_go_on_from_what_is_kept(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    layers, told = ["bn-relu", "x * sigmoid(x)"], []
    here = evaluate_layers(layers, RECIPE, [0, 1], test_set=True)
    there = evaluate_layers(
        layers,
        RECIPE,
        [0, 1],
        watch=lambda *event: told.append(event),
        kept=kept_results(tmp_path),
        test_set=True,
        workers=2,
    )
    assert [without_times(each) for each in there] == [without_times(each) for each in here]
    assert {event[:2] for event in told if event[2] is None} == {(layer, seed) for layer in layers for seed in (0, 1)}
    assert {event[2].anchor for event in told if event[2]} == {"resnet-nano"}
    monkeypatch.setattr(evaluate_layer, "workers_for_list", forbidden)
    assert evaluate_layers(layers, RECIPE, [0, 1], kept=kept_results(tmp_path), test_set=True, workers=2) == there


def test_a_worker_that_breaks_is_told_and_tried_again_the_next_time(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setattr(evaluate_layer, "LAYER_TASK", "os:abort")
    broken = evaluate_layers(["bn-relu"], RECIPE, [0], kept=kept_results(tmp_path), workers=1)
    assert isinstance(broken[0].outcome, Failed)
    assert not (tmp_path / "outcomes.jsonl").exists()


@pytest.mark.slow
def test_the_command_ends_as_if_it_had_not_been_killed(tmp_path):
    pytest.importorskip("sklearn")
    command = [sys.executable, "-m", "evonorm", "evaluate", "bn-relu", "evonorm-b0", "--recipe", "recipes/smoke.toml"]
    command += ["--set", "fitness.training.steps=60", "--set", "fitness.quality.accuracy=0", "--workers", "2"]

    def outcomes(folder):
        pairs = [(each["question"], outcome_from_json(each["answer"])) for each in kept_results(folder).records()]
        return sorted(without_times(Measurement(asked["layer"], asked["seed"], found)) for asked, found in pairs)

    subprocess.run([*command, "--keep", str(tmp_path / "straight")], check=True, capture_output=True)
    assert len(outcomes(tmp_path / "straight")) == 2
    killed = [*command, "--keep", str(tmp_path / "killed")]
    for behind in (1, 8, 14):  # of the eighteen stages of both layers: in a test, and twice in a training
        process = subprocess.Popen(killed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and stages_in(tmp_path / "killed") < behind:
            time.sleep(0.02)
        process.kill()
        process.wait()
    assert len(outcomes(tmp_path / "killed")) < 2, "killed too late to show anything"
    subprocess.run(killed, check=True, capture_output=True)
    again = subprocess.run(killed, check=True, capture_output=True, text=True).stdout
    assert "2 of 2 evaluations are kept in" in again
    assert "nothing is trained." in again
    assert outcomes(tmp_path / "killed") == outcomes(tmp_path / "straight")
    assert [path.name for path in (tmp_path / "killed").rglob("*")] == ["outcomes.jsonl"]


def stages_in(folder):
    count = 0
    for path in folder.glob(f"*.partial/*/{StageLog.FILE}"):
        with contextlib.suppress(FileNotFoundError):  # gone with its evaluation's end
            count += path.read_bytes().count(b"\n")
    return count


def without_times(measurement):
    def figures(stage):
        return {name: value for name, value in stage.figures.items() if "second" not in name}

    return measurement.layer, measurement.seed, [figures(stage) for stage in measurement.outcome.stages]


def test_a_table_of_verdicts_goes_on_where_it_was(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    file = tmp_path / "verdicts.jsonl"

    def find(recipe=RECIPE):
        return list(verdicts.find_verdicts(["bn-relu", "exp(x)"], recipe, [0], kept_results(file), lambda *_: None))

    found = find()
    assert [(each.layer, each.test, each.passed) for each in found] == [
        ("bn-relu", "quality", True),
        ("bn-relu", "stability", True),
        ("exp(x)", "quality", False),
        ("exp(x)", "stability", False),
    ]
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:-1]) + "\n")
    assert [each.passed for each in find()] == [each.passed for each in found]
    monkeypatch.setattr(verdicts, "_find", forbidden)
    rows = verdicts.verdict_rows(find(), RECIPE.anchors)
    assert [row[0] for row in rows] == ["bn-relu", "exp(x)"]
    assert rows[1][2].startswith("FAIL not finite")
    with pytest.raises(AssertionError):
        find(replace(RECIPE, threads=2))


def test_a_verdict_is_found_by_what_decides_it():
    """Everything but the other test, other anchors and the ladder."""

    def key(recipe=RECIPE, layer="bn-relu", anchor="resnet-nano", test="quality", seed=0):
        return key_of(verdicts.verdict_question(layer, anchor, test, seed, recipe))

    two = replace(RECIPE, anchors=("mobilenet-nano", "resnet-nano"))
    assert key(two) == key() == key(replace(RECIPE, stability=StabilityRecipe(7)))
    stable = key(test="stability")
    assert key(replace(RECIPE, quality=QualityRecipe(2, 0.5)), test="stability") == stable
    others = [
        key(layer="bn-silu"),
        key(seed=1),
        key(two, anchor="mobilenet-nano"),
        key(replace(RECIPE, quality=QualityRecipe(1, 0.5))),
        key(replace(RECIPE, threads=2)),
        key(replace(RECIPE, stability=StabilityRecipe(7)), test="stability"),
    ]
    assert len({key(), stable, *others}) == 8


def test_the_table_has_mean_and_spread_and_tells_rejections():
    def scores(*accuracies):
        stages = [
            Stage("training", anchor, 2, 3.0, {"accuracy": accuracy, "seconds_per_step": 2 * accuracy})
            for anchor, accuracy in zip("ab", accuracies, strict=True)
        ]
        return Scores(dict(zip("ab", accuracies, strict=True)), tuple(stages))

    measured = [
        Measurement("good", 0, scores(0.5, 0.2)),
        Measurement("bad", 0, Rejected("quality", "a", {"accuracy": 0.125})),
        Measurement("good", 1, scores(0.6, 0.2)),
        Measurement("bad", 1, Failed("error", "broke")),
    ]
    assert summary_rows(measured, ["a", "b"]) == [
        ["a", "good", "55.0 ± 7.1", "1.100"],
        ["a", "bad", "-", "-"],
        ["b", "good", "20.0 ± 0.0", "0.400"],
        ["b", "bad", "-", "-"],
        ["average", "good", "37.5 ± 3.5", "0.750"],
        ["average", "bad", "-", "-"],
    ]
    assert len(summary_rows(measured, ["a"])) == 2
    assert summary_notes(measured) == [
        "bad, seed 0: rejected by quality on a (accuracy 0.125)",
        "bad, seed 1: failed: broke",
        "0.2 minutes in all",
    ]


@pytest.mark.parametrize(
    ("layer", "message"),
    [("bnrelu", "Did you mean bn-relu"), ("1 + exp(v1)", "does not read x"), ("x +", "x +")],
)
def test_a_mistake_in_a_layer_is_told_before_any_training(layer, message):
    with pytest.raises(ValueError, match=message.replace("+", r"\+")):
        check_layers(["bn-relu", layer])


def test_without_a_terminal_progress_is_lines(monkeypatch, capsys):
    from evonorm.cli import work_bars as cli

    now = [1000.0]
    monkeypatch.setattr(cli.time, "monotonic", lambda: now[0])
    with cli.work_bars() as bars:
        for step in range(10):
            bars("bn-relu", "on resnet-nano", step, 9)
            bars("gn-relu", "on resnet-nano", step, 9)
            now[0] += 13
        bars("gn-relu", None, 0, 0)
        bars("bn-relu", "on mobilenet-nano", 0, 0)
    lines = [line.split(" ", 1)[1] for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "bn-relu: on resnet-nano: 0 of 9",
        "gn-relu: on resnet-nano: 0 of 9",
        "bn-relu: on resnet-nano: 5 of 9",
        "gn-relu: on resnet-nano: 5 of 9",
        "bn-relu: on mobilenet-nano: 0",
    ]
