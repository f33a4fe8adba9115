"""Replays of rules that were not built, on the first round's kept searches."""

import re

import pytest

from studies.exploration import replay


def test_a_rung_stops_the_worse_half_of_the_latest():
    losses = [2.0] * 10 + [1.0, 3.0, 2.0]
    assert replay.goes_on(losses) == [True] * 11 + [False, True]


@pytest.fixture(scope="module")
def searches():
    return replay.kept_searches()


def test_a_prediction_knows_only_what_came_before(searches):
    every = searches["b-evolution"]
    labels = [each.accuracy for each in every]
    changed = [*labels[:-1], 99.0]
    assert replay.predicted(every, labels) == replay.predicted(every, changed)
    assert min(labels) <= min(replay.predicted(every, labels)) <= max(replay.predicted(every, labels)) <= max(labels)


NUMBER = re.compile(r"-?\d+\.\d+")


@pytest.mark.parametrize("run", ["b-evolution", "s-evolution"])
def test_the_lab_log_has_the_rows(searches, run, request):
    """Trees split elsewhere where a processor rounds otherwise, which moves a correlation by a hundredth or two."""
    text = (request.config.rootpath / "docs/lab_log.md").read_text()
    _, predicted, *cells = replay.surrogate_row(run, searches[run])
    row = re.search(rf"\| {run} +\| {predicted} +\|(.*)", text).group(1)
    found = [float(each) for each in NUMBER.findall(row)]
    assert found == pytest.approx([float(each) for each in NUMBER.findall(" ".join(cells))], abs=0.04)
    wanted = r"\| " + r" +\| ".join(map(re.escape, replay.rung_row(run, searches[run]))) + r" +\|"
    assert re.search(wanted, text)
