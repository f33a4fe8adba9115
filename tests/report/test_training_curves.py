"""Curves of several layers side by side: means over trainings, and nothing from what is not a curve."""

import pytest

from evonorm.journal import Rejected, Scores, Stage
from evonorm.report.training_curves import curves_of_candidate, curves_of_layers


def trained(accuracies, losses=(2.0, 1.0), anchor="wide"):
    curve = [[10 * (place + 1), accuracy] for place, accuracy in enumerate(accuracies)]
    steps = 10 * len(accuracies)
    return Stage("training", anchor, steps, 1.0, {"curve": curve, "losses": list(losses), "step": steps})


def test_a_layer_is_the_mean_of_its_trainings():
    outcomes = {
        "steady": [
            Scores({"wide": 0.4}, (trained([0.2, 0.4]),)),
            Scores({"wide": 0.6}, (trained([0.4, 0.6], (3, 2)),)),
        ],
        "short": [Scores({"wide": 0.3}, (trained([0.3]),))],
        "rejected": [Rejected("quality", "wide", {}, (Stage("quality", "wide", 3, 1.0, {"accuracy": 0.1}),))],
    }
    validation, loss = curves_of_layers(outcomes)
    assert (validation.name, validation.title) == ("validation_wide", "Validation accuracy on wide")
    assert validation.rows == [("steady", 10, pytest.approx(30)), ("steady", 20, pytest.approx(50)), ("short", 10, 30)]
    assert loss.rows[:2] == [("steady", 0, 2.5), ("steady", 20, 1.5)]


def test_an_anchor_is_a_figure_and_a_training_that_stopped_early_is_not_averaged_in():
    stopped = Scores({"a": 0.5}, (trained([0.1], anchor="a"),))
    whole = Scores({"a": 0.5}, (trained([0.2, 0.4], anchor="a"), trained([0.3], anchor="b")))
    figures = curves_of_layers({"layer": [stopped, whole]})
    assert [figure.name for figure in figures] == ["validation_a", "loss_a", "validation_b", "loss_b"]
    assert figures[0].rows == [("layer", 10, 20.0), ("layer", 20, 40.0)]


def test_a_candidate_has_a_line_for_each_anchor():
    validation, _ = curves_of_candidate([trained([0.2], anchor="a"), trained([0.5], anchor="b")])
    assert validation.rows == [("a", 10, 20.0), ("b", 10, 50.0)]


@pytest.mark.parametrize("curve", [None, "words", [1, 2], [[1, 2, 3]], []])
def test_what_is_no_curve_is_left_out(curve):
    assert curves_of_candidate([Stage("training", "a", 1, 1.0, {"curve": curve, "losses": [1.0]})]) == []
