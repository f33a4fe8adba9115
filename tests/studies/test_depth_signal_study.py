import json
import sys

import pytest

from evonorm.fitness import FitnessRecipe
from evonorm.graph import Graph
from evonorm.runner.calibrate import measure
from evonorm.runner.calibration_trial import Curve, Look, Trial
from evonorm.runner.recipe import recipe_from_table
from evonorm.runner.run_search import create_search
from evonorm.runner.surroundings import kept_results
from evonorm.search import SearchRecipe
from studies.free_checks import depth_signal
from studies.free_checks.depth_signal import limit_rows, trained_layers

ACCURACIES = {"bn-relu": 0.3, "evonorm-s0": 0.25, "b0-add": None, "tanh(x)": 0.12}


@pytest.fixture
def trained(tmp_path):
    def fake(trial, *_):
        return Curve(trial, (Look(2, 0.1, 2.3), Look(4, ACCURACIES[trial.layer], 2.0)), 4, 1.0)

    trials = [(Trial("cheap", layer, "resnet-nano", 0, (2, 4)), FitnessRecipe(data="digits")) for layer in ACCURACIES]
    list(measure(trials, kept_results(tmp_path), fake))
    return tmp_path


def test_what_a_calibration_kept_is_joined_with_the_signal(trained):
    found = {each.layer: each.accuracy for each in trained_layers(trained, "resnet-nano")}
    assert found == {**ACCURACIES, "b0-add": 0.0}
    rows = {(row[0], row[1]): row[2:4] for row in limit_rows(trained_layers(trained, "resnet-nano"), gate=0.15)}
    assert rows["0.1", "1"] == ["1 of 2", "0 of 2"]  # b0-add; tanh keeps its scale and fails for another reason
    assert rows["0.05", "0.98"] == ["1 of 2", "1 of 2"]
    with pytest.raises(ValueError, match="no training on mobilenet-nano"):
        trained_layers(trained, "mobilenet-nano")


def test_the_command_prints_both(trained, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["x", "--random", "1"])
    depth_signal.main()
    assert "evonorm-b0" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["x", "--trained", str(trained), "--anchor", "resnet-nano"])
    depth_signal.main()
    assert "1 of 2" in capsys.readouterr().out


def test_a_recipe_must_ask_for_the_rejection():
    wild = Graph.parse("log(x)")
    table = {"evaluate": "m:f", "search": {"free_checks": True}}
    assert create_search(recipe_from_table(table, "test")).screen(wild).rejected is None
    table["search"]["depth_check"] = True
    strict = create_search(recipe_from_table(table, "test"))
    assert strict.screen(wild).rejected.test == "free:depth-signal"
    assert json.dumps(strict.screen(wild).rejected.figures)
    assert strict.screen(Graph.parse("max(x, 0) / std_bwh(x)")).rejected is None
    with pytest.raises(ValueError, match="depth_check"):
        SearchRecipe(depth_check=True)
