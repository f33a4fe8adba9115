"""Judging again: whom, with what power, and what the tables say, against hand-made figures and a simulation."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from evonorm.fitness import FitnessRecipe, families
from evonorm.journal import Rejected, RunFolder, Scores, Stage, import_journal, leaderboard
from evonorm.kernels import FAMILY, likeness, signature
from evonorm.runner import Contender, Measurement, contenders, judged, judging_recipe, power_table, seconds_of_one
from evonorm.runner.judge import detectable


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = RunFolder(tmp_path_factory.mktemp("runs"), "b")
    folder.path.mkdir()
    import_journal(Path("studies/search/b-evolution.evonorm"), folder.journal)
    return folder


def test_contenders_are_the_heads_of_different_families(folder):
    found = contenders(folder, 8, ["bn-silu", "bn-relu"])
    heads = [each for each in found if each.candidate is not None]
    assert len(heads) == 8
    assert [each.layer for each in found[8:]] == ["bn-relu", "evonorm-b0", "bn-silu"]
    with folder.reader() as reader:
        ranked = leaderboard(reader, 1000)
        signatures = [signature(reader.candidate(each.candidate).proposal.graph) for each in heads]
    assert heads[0].candidate == ranked[0].candidate.proposal.index
    assert all(likeness(one, two) < FAMILY for i, one in enumerate(signatures) for two in signatures[:i])
    whole = families(ranked)
    assert sum(len(each.members) for each in whole) == len(ranked)
    assert all(family.head.average >= member.average for family in whole for member in family.members)
    assert 10 < len(whole) < len(ranked) / 2


def test_the_recipe_of_the_run_loses_its_gates_and_takes_changes(folder):
    recipe = judging_recipe(folder, changes=["fitness.training.steps=7"])
    assert recipe.anchors == ("resnet-nano", "mobilenet-thin", "efficientnet-nano")
    assert (recipe.ladder, recipe.quality.accuracy, recipe.stability.steps, recipe.training.steps) == ((), 0.0, 0, 7)
    paper = judging_recipe(folder, Path("paper_b"), ["fitness.training.steps=400"])
    assert paper.anchors == FitnessRecipe().anchors
    assert paper.training.steps == 400


def test_what_one_evaluation_takes(folder):
    with folder.reader() as reader:
        short, long = (seconds_of_one(reader, judging_recipe(folder, changes=[f"fitness.training.steps={n}"]))
                       for n in (150, 300))  # fmt: skip
        assert long == pytest.approx(2 * short)
        assert 20 < short < 120
        assert seconds_of_one(reader, FitnessRecipe()) is None  # nothing was trained on the paper's anchors


@pytest.mark.parametrize("n", [3, 4, 8])
def test_a_difference_of_that_size_is_shown_in_four_of_five_cases(n):
    """By simulation, with numpy's own normal numbers and scipy's quantiles."""
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    true = detectable(n, 1.0)
    draws = true + rng.standard_normal((20_000, n))
    low = draws.mean(1) - stats.t.ppf(0.975, n - 1) * draws.std(1, ddof=1) / np.sqrt(n)
    assert 0.75 < (low > 0).mean() < 0.9  # the formula is the usual approximation, on the safe side for few seeds


def test_the_power_table_grows_to_the_asked_seeds():
    rows = power_table(layers=5, most_seeds=6, spread=0.01, seconds=36.0, workers=2)
    assert [row.seeds for row in rows] == [2, 3, 4, 6]
    assert [row.hours for row in rows] == pytest.approx([0.05, 0.075, 0.1, 0.15])
    assert all(one.difference > two.difference for one, two in pairwise(rows))
    assert power_table(3, 4, seconds=None)[0].hours is None


def scores(a, b):
    stages = tuple(Stage("training", anchor, 1, 1.0, {"accuracy": value, "last_accuracy": value / 2})
                   for anchor, value in (("a", a), ("b", b)))  # fmt: skip
    return Scores({"a": a, "b": b}, stages)


def test_differences_are_paired_by_seed():
    ours, theirs = Contender("x / std_bwh(x)", 7, 3), Contender("bn-relu")
    hard = {0: 0.0, 1: -0.1, 2: 0.2}  # how easy a seed is: the same for both
    measured = [Measurement(ours.layer, seed, scores(0.5 + easy, 0.6 + easy)) for seed, easy in hard.items()]
    measured += [Measurement(theirs.layer, seed, scores(0.45 + easy, 0.61 + easy)) for seed, easy in hard.items()]
    first, second = judged([ours, theirs], measured)
    assert first.contender == ours
    less = first.less(second)
    assert (less.mean, less.half) == (pytest.approx(0.02), pytest.approx(0.0, abs=1e-9))
    assert first.mean.half > 0.3  # unpaired it would say nothing
    assert first.less(second, "a").mean == pytest.approx(0.05)
    assert not first.ahead_everywhere(second)  # on b it is behind
    lower = [replace(each, outcome=scores(0.4 + hard[each.seed], 0.5 + hard[each.seed]))
             if each.layer == theirs.layer else each for each in measured]  # fmt: skip
    first, second = judged([ours, theirs], lower)
    assert first.ahead_everywhere(second)
    assert judged([ours], measured, "last_accuracy")[0].mean.mean == pytest.approx((0.5 + 0.6 + 0.2 / 3) / 4, abs=0.01)


def test_a_training_that_broke_counts_as_nothing_learnt():
    ours = Contender("x", 7, 1)
    measured = [Measurement("x", 0, scores(0.5, 0.7)), Measurement("x", 1, Rejected("training", "a", {"step": 3}))]
    (found,) = judged([ours], measured)
    assert found.by_seed == {0: pytest.approx(0.6), 1: 0.0}
    assert found.broken == 1
