from pathlib import Path

import pytest

from evonorm.runner.recipe import load_recipe
from evonorm.search import SearchRecipe

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_recipe_can_be_read(path):
    load_recipe(path)


@pytest.mark.parametrize("name", ["paper_b", "paper_s"])
def test_the_papers_recipes_use_nothing_of_ours(name):
    recipe, plain = load_recipe(RECIPES / f"{name}.toml"), SearchRecipe()
    assert not recipe.fitness["ladder"]
    ours = (
        "free_checks",
        "attempts",
        "runs_per_function",
        "genotypes_per_function",
        "depth_check",
    )
    for key in ours:
        assert getattr(recipe.search, key) == getattr(plain, key)
    assert not plain.free_checks
