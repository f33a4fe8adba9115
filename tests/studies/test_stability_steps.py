"""The study of the ascent's step size: halves, verdicts counted right, and a small real run of it."""

import sys
from dataclasses import replace

import pytest

from evonorm.fitness import FitnessRecipe
from evonorm.journal import KeptResults
from evonorm.runner.verdicts import Verdict, distinct_layers
from studies import kept_or_fresh
from studies.stability_steps import study


def verdict(layer, passed, norm=10.0, step=100, seed=0, anchor="a"):
    figures = {"step": step, "gradient_norm": norm, "finite": passed}
    return Verdict(layer, anchor, "stability", seed, passed, 2.0, figures)


def test_the_halves_share_nothing_and_each_has_something_to_reject():
    one, other = study.half_of_catalog(0), study.half_of_catalog(1)
    assert not set(one) & set(other)
    assert set(one) | set(other) == set(study.LAYERS) | set(study.BARE)
    assert set(study.LAYERS) <= set(distinct_layers())
    for half in (one, other):
        assert any(layer in study.COLLAPSING for layer in half)
        assert sum(map(study.should_be_rejected, half)) == 3


def test_a_summary_tells_false_alarms_from_catches():
    found = [
        verdict("bn-relu", True, norm=50.0),
        verdict("evonorm-b0", True, norm=2e7),
        verdict("gn-relu", False, step=40),
        verdict("exp(x)", False, step=1),
        verdict("b0-add", False, step=5),
        verdict("max(x, 0)", True, norm=3e7),
    ]
    assert study.summary(found) == (
        "rejects 1 of 3 others whose largest norm is 2.0e+07 and 2 of 3 that should be"
        " after at most 5 steps (median 3) (2 s for one that passes)"
    )


def test_a_row_has_the_largest_norm_of_the_seeds_or_the_steps_of_rejections():
    found = [verdict("x", True, 3.0, seed=0), verdict("x", True, 5.0, seed=1)]
    found += [verdict("x", False, step=7, seed=1, anchor="b"), verdict("x", True, seed=0, anchor="b")]
    assert study.rows_of(found, ["a", "b"]) == [["x", "5.0e+00", "rejected 1 of 2, step 7"]]


def test_disagreements_name_the_case():
    one, other = [verdict("x", True), verdict("exp(x)", False)], [verdict("x", False), verdict("exp(x)", False)]
    assert study.disagreements(one, other) == ["x on a, seed 0"]


def test_variants_change_what_they_name_and_nothing_else():
    recipe = FitnessRecipe()
    sizes = study.variants("choose", recipe, seeds=2)
    assert [each.recipe.stability.step_size for each in sizes] == list(study.STEP_SIZES)
    for each in sizes:
        assert replace(each.recipe, stability=recipe.stability) == recipe
        assert each.seeds == (0, 1)
    ways = study.variants("agree", recipe, seeds=1)
    assert [each.recipe.stability.direction for each in ways] == ["differences", "exact"]
    assert {each.recipe.stability.steps for each in ways} == {study.COMPARED_STEPS}


def test_a_small_agreement_runs_from_the_command_line(tmp_path, monkeypatch, capsys):
    pytest.importorskip("sklearn")
    recipe = tmp_path / "small.toml"
    recipe.write_text('[fitness]\ndata = "digits"\nanchors = ["resnet-nano"]\n')
    monkeypatch.setattr(study, "COMPARED", ("bn-relu", "exp(x)"))
    monkeypatch.setattr(study, "COMPARED_STEPS", 1)
    monkeypatch.setattr(sys, "argv", ["stability_steps", "agree", "--recipe", str(recipe)])
    monkeypatch.setattr(kept_or_fresh, "SCRATCH", tmp_path)
    monkeypatch.setenv("FRESH", "1")
    study.main()
    printed = capsys.readouterr().out
    assert "rejects 0 of 1 others" in printed
    assert "1 of 1 that should be" in printed
    assert "different verdicts: 0 of 2" in printed
    assert printed.count("0 of 2 verdicts are kept") == 2
    kept = KeptResults(tmp_path / "stability_steps" / "fresh")
    directions = {each["question"]["recipe"]["stability"].get("direction", "differences") for each in kept.records()}
    assert directions == {"differences", "exact"}
    assert len(list(kept.records())) == 4
