"""What `--set` makes of a recipe."""

from pathlib import Path

import pytest

from evonorm.runner.evaluate_layer import read_fitness_recipe
from evonorm.runner.recipe import load_recipe
from evonorm.runner.recipe_file import find_recipe, read_recipe_file

RECIPE = Path("recipes/laptop.toml")


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("search.method=random", "random"),
        ('search.method="random"', "random"),
        ("search.method = 'random'", "random"),
        ("search.method=3", 3),
        ("search.method=1e-4", 1e-4),
        ("search.method=true", True),
        ('search.method=["a", "b"]', ["a", "b"]),
        ("search.method=a=b", "a=b"),
        ("search.method=", ""),
    ],
)
def test_a_change_is_a_value_as_in_the_file(change, value):
    plain, changed = read_recipe_file(RECIPE), read_recipe_file(RECIPE, [change])
    assert changed["search"].pop("method") == value
    plain["search"].pop("method", None)
    assert changed == plain


def test_the_last_change_wins_and_tables_are_made():
    changed = read_recipe_file(RECIPE, ["fitness.new.table.key=1", "fitness.new.table.key=2"])
    assert changed["fitness"]["new"] == {"table": {"key": 2}}


@pytest.mark.parametrize("change", ["seed", "=3", ".seed=3", "search.=3", "search..method=random"])
def test_what_is_no_change_is_refused(change):
    with pytest.raises(ValueError, match="a change is KEY=VALUE"):
        read_recipe_file(RECIPE, [change])


def test_a_value_is_not_a_table():
    with pytest.raises(ValueError, match="'seed' is a value"):
        read_recipe_file(RECIPE, ["seed.of.search=3"])


def test_changed_keys_are_checked_as_the_files_own():
    assert load_recipe(RECIPE, ["search.method=random", "seed=7"]).search.method == "random"
    assert read_fitness_recipe(RECIPE, ["fitness.training.steps=400"]).training.steps == 400
    with pytest.raises(ValueError, match=r"unknown key 'metod'\. Did you mean 'method'"):
        load_recipe(RECIPE, ["search.metod=random"])
    with pytest.raises(ValueError, match="steps"):
        read_fitness_recipe(RECIPE, ["fitness.training.steps=many"])


@pytest.mark.parametrize("name", ["laptop", "laptop.toml", "recipes/laptop.toml"])
def test_recipes_ship_with_the_package(name, tmp_path, monkeypatch):
    expected = read_recipe_file(RECIPE)
    monkeypatch.chdir(tmp_path)
    assert read_recipe_file(Path(name)) == expected


def test_a_file_of_ones_own_wins_and_another_folder_is_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("laptop").mkdir()  # a folder is no recipe
    Path("laptop.toml").write_text("seed = 7")
    assert read_recipe_file(Path("laptop.toml")) == {"seed": 7}
    assert read_recipe_file(Path("laptop"))["fitness"]
    for missing in (tmp_path / "smoke.toml", Path("mine/smoke.toml"), Path("lap")):
        with pytest.raises(
            ValueError, match=r"there is no recipe .*: cifar10/resnet, .*laptop, paper_b, paper_s, random_study, smoke"
        ):
            find_recipe(missing)
