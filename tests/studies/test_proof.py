"""The proof's arithmetic: intervals against scipy's, what may be said of a layer, and what broke."""

import numpy as np
import pytest

from evonorm.journal import Rejected, Scores, Stage, Test
from evonorm.runner import Measurement
from studies.proof.study import ANCHORS, CHANCE, Proof, ahead_everywhere, less, not_worse, paper_recipe, proofs

stats = pytest.importorskip("scipy.stats")


def proof(layer, *means, n=6, spread=0.3):
    """A layer with these means on the three nets."""
    draws = np.random.default_rng(7).normal(0, spread, (len(ANCHORS), n))
    values = {anchor: dict(enumerate(mean + row)) for anchor, mean, row in zip(ANCHORS, means, draws, strict=False)}
    return Proof(layer, values)


def test_a_difference_has_welchs_interval():
    rng = np.random.default_rng(0)
    mine, theirs = rng.normal(70, 1, 6).tolist(), rng.normal(68, 3, 4).tolist()
    found = less(mine, theirs)
    wanted = stats.ttest_ind(mine, theirs, equal_var=False).confidence_interval()
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-9)
    assert less(mine, theirs[:1]) is None, "one value has no spread"


def test_a_layer_is_ahead_only_if_it_is_so_on_every_net():
    base = proof("bn-relu", 68, 60, 62)
    assert ahead_everywhere(proof("a", 70, 62, 64), base) is True
    assert ahead_everywhere(proof("b", 75, 70, 62), base) is False, "one net decides"
    assert ahead_everywhere(proof("c", 70, 62), base) is None, "a net is missing"


def test_a_layer_matches_if_the_whole_interval_is_above_minus_one():
    rival = proof("evonorm-b0", 70, 62, 64)
    assert not_worse(proof("a", 70.5, 61.5, 64), rival) is True
    assert not_worse(proof("b", 69, 61, 63), rival) is False
    assert not_worse(proof("c", 70, 62, 64, spread=4.0), rival) is False, "too noisy to tell"


def test_what_breaks_counts_as_chance_and_what_is_missing_does_not_count():
    stage = Stage(Test.TRAINING, ANCHORS[0], 2000, 1.0, {"test_accuracy": 0.7})
    measured = {
        ANCHORS[0]: [
            Measurement("a", 100, Scores({ANCHORS[0]: 0.7}, (stage,))),
            Measurement("a", 101, Rejected(Test.TRAINING, ANCHORS[0], {"ending": "non_finite_loss"})),
        ]
    }
    first, second = proofs(measured, ["a", "b"], "test_accuracy")
    assert first.on(ANCHORS[0]) == [pytest.approx(70.0), CHANCE]
    assert second.on(ANCHORS[0]) == second.on(ANCHORS[1]) == []


@pytest.mark.parametrize("mode", ["b", "s"])
def test_the_recipe_is_the_papers_but_for_length_gates_and_the_average_beside(mode):
    recipe = paper_recipe(mode, ANCHORS[1], 2000)
    assert recipe.training.steps == 2000
    assert recipe.training.learning_rate == 0.1
    assert recipe.training.clip == 0.0, "what is ours is off in the paper's recipes"
    assert recipe.training.schedule == {"b": "constant", "s": "cosine"}[mode]
    assert recipe.validation_images == 5000
