"""Whole searches and lists of work on two real Ray nodes of this machine."""

import io
import subprocess
import sys
from dataclasses import replace

import pytest
from rich.console import Console

from evonorm.cli.run_status import run_status
from evonorm.fitness import FitnessRecipe, QualityRecipe, StabilityRecipe
from evonorm.journal import journal_digest, read_hosts
from evonorm.runner import evaluate_layers
from evonorm.training import TrainingRecipe
from evonorm.workers import WorkerRecipe
from tests.runner.test_run_search import ENVIRONMENT, FAKE, INLINE, quiet, search

pytestmark = pytest.mark.slow


@pytest.fixture
def on_ray(ray_cluster):
    return WorkerRecipe(kind="ray", number=0, address=ray_cluster.whole().address, pin=False)


def test_a_strict_search_on_a_cluster_is_the_search_on_one_machine(tmp_path, on_ray, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "open-sesame-7")
    recipe = replace(FAKE, fitness={"seconds": 0.1}, workers=on_ray)
    console = quiet()
    there, ended = search(tmp_path / "there", "run", recipe, console, candidates=40)
    assert ended == "candidates"
    here, _ = search(tmp_path / "here", "run", replace(recipe, workers=INLINE), candidates=40)
    assert journal_digest(there.journal) == journal_digest(here.journal)
    assert "hosts: " in console.console.file.getvalue()
    with there.reader() as reader:
        joined = [body for _, body in reader.events("host joined")]
        assert {body["workers"] for body in joined} == {2}
        assert all(body["versions"]["torch"] and body["processor"] for body in joined)
        assert not reader.events("worker started")
        hosts = read_hosts(reader)
        assert (len(hosts.nodes), hosts.judged) == (len(joined), 42)
        terminal = Console(file=io.StringIO(), width=150)
        terminal.print(run_status(there, reader))
    assert f"hosts: 0 now with 0 workers ({len(joined)} joined, 0 lost)" in terminal.file.getvalue()
    for file in (tmp_path / "there").rglob("*"):
        assert file.is_dir() or b"open-sesame-7" not in file.read_bytes(), file
    assert "open-sesame-7" not in terminal.file.getvalue() + console.console.file.getvalue()


def test_layers_are_evaluated_on_a_cluster_with_the_same_figures(on_ray):
    pytest.importorskip("sklearn")
    recipe = FitnessRecipe(
        data="digits",
        anchors=("resnet-nano",),
        threads=1,
        validation_images=64,
        moments="reestimated",
        moment_batches=1,
        quality=QualityRecipe(steps=1, accuracy=0.0),
        stability=StabilityRecipe(steps=1),
        training=TrainingRecipe(steps=2),
    )
    layers = ["bn-relu", "evonorm-s0"]
    here = evaluate_layers(layers, recipe, [0, 1])
    there = evaluate_layers(layers, recipe, [0, 1], workers=on_ray)
    assert [each.outcome.accuracies for each in there] == [each.outcome.accuracies for each in here]


@pytest.mark.parametrize(
    ("kills", "killed"), [("4", {"child": 1, "host": 1, "node": 1, "driver": 1}), ("head", {"head": 1})]
)
def test_whoever_is_killed_the_search_ends_as_the_undisturbed_one(tmp_path, kills, killed):
    command = [sys.executable, "-m", "tests.runner.ray_kill_harness", str(tmp_path), kills]
    harness = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert harness.returncode == 0, harness.stdout + harness.stderr
    told, calm, disturbed = harness.stdout.splitlines()[-3:]
    assert told == f"killed: {killed}"
    assert calm.split()[1] == disturbed.split()[1]
