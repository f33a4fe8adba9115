import pytest

from evonorm.cli.worker_options import chosen_workers
from evonorm.workers import WorkerRecipe

LAPTOP = WorkerRecipe(number=2, slowest=5.0)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((None,), ("processes", 2, "auto", False)),
        (("0",), ("inline", 1, "auto", False)),
        (("7",), ("processes", 7, "auto", False)),
        (("ray",), ("ray", 0, "auto", False)),
        (("ray:64", "10.0.0.1:6379", True), ("ray", 64, "10.0.0.1:6379", True)),
    ],
)
def test_options_change_who_computes_and_nothing_else(options, expected):
    found = chosen_workers(LAPTOP, *options)
    assert (found.kind, found.number, found.address, found.insecure) == expected
    assert found.slowest == 5.0


def test_a_recipe_for_a_cluster_stays_one():
    recipe = WorkerRecipe(kind="ray", number=500, address="10.0.0.1:6379")
    assert chosen_workers(recipe, None) == recipe
    assert chosen_workers(recipe, None, "auto").address == "auto"
    assert chosen_workers(recipe, "4").kind == "processes"
