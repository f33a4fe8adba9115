"""A search that is stopped and resumed anywhere is the undisturbed one, under every recipe's own [search] table."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evonorm.journal import RunFolder, check_journal, journal_digest
from evonorm.runner import Budget, load_recipe, resume_search, start_search
from evonorm.runner.recipe_file import SHIPPED
from tests.runner.test_run_search import FAKE

RECIPES = sorted(path.stem for path in SHIPPED.glob("*.toml"))
PROPOSALS = 500


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
@settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10_000), stops=st.lists(st.integers(1, PROPOSALS - 1), min_size=1, max_size=4, unique=True))
def test_stopped_and_resumed_anywhere(name, seed, stops):
    recipe = replace(FAKE, seed=seed, search=replace(load_recipe(Path(name)).search, order="strict"))
    with tempfile.TemporaryDirectory() as place:
        whole, pieces = (RunFolder(Path(place) / name, name) for name in ("whole", "pieces"))
        start_search(whole, recipe, Budget(proposals=PROPOSALS))
        first, *others = sorted(stops)
        start_search(pieces, recipe, Budget(proposals=first))
        for bound in (*others, PROPOSALS):
            resume_search(pieces, Budget(proposals=bound))
        assert journal_digest(pieces.journal) == journal_digest(whole.journal)
        assert check_journal(pieces.journal)["proposals"] == PROPOSALS + len(recipe.references)
