"""Searches are what they were: digests of their rows, made before the rooms were moved about.

Every recipe's own [search] table with a fitness that is a hash; what is compared is what was proposed and what was said
of it, row by row, without the recipe's spelling. The laptop's digest was renewed when its seeds were paired.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from evonorm.journal import Rejected, RunFolder, Scores
from evonorm.runner.budget import Budget
from evonorm.runner.recipe import Recipe, load_recipe
from evonorm.runner.run_search import start_search
from evonorm.workers import WorkerRecipe

KEPT = Path(__file__).with_name("same_searches.json")
RECIPES = ("laptop", "paper_b", "paper_s", "smoke")
PROPOSALS = 1500


def rows_digest(runs, name, seed):
    recipe = Recipe(
        seed=seed,
        evaluate="tests.runner.fake_fitness:by_hash",
        search=replace(load_recipe(Path(name)).search, order="strict"),
        workers=WorkerRecipe(kind="inline"),
    )
    folder = RunFolder(runs, f"{name}-{seed}")
    start_search(folder, recipe, Budget(proposals=PROPOSALS))
    digest = hashlib.sha256()
    with folder.reader() as reader:
        for row in reader.candidates():
            digest.update(json.dumps(comparable(row)).encode())
    return digest.hexdigest()


def comparable(row):
    proposal, outcome = row.proposal, row.outcome
    said = None
    if isinstance(outcome, Scores):
        said = sorted(outcome.accuracies.items())
    elif isinstance(outcome, Rejected):
        said = [str(outcome.test), outcome.anchor]
    graph = proposal.graph.encode()
    return [proposal.index, graph, proposal.origin, proposal.seed, list(proposal.parents), proposal.function, said]


@pytest.mark.parametrize("name", RECIPES)
def test_the_search_is_what_it_was(tmp_path, name):
    assert rows_digest(tmp_path, name, seed=1) == json.loads(KEPT.read_text())[name]


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        kept = {name: rows_digest(Path(folder), name, seed=1) for name in RECIPES}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
