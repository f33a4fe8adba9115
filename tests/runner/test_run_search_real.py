"""Short searches with the real fitness: a few candidates, five training steps each, whoever computes."""

from dataclasses import replace

import pytest

from evonorm.journal import Rejected, RunFolder, Scores, Test, journal_digest, read_ledger
from evonorm.runner.budget import Budget
from evonorm.runner.recipe import recipe_from_table
from evonorm.runner.run_search import resume_search, start_search
from evonorm.workers import WorkerRecipe

TABLE = {
    "seed": 1,
    "references": ["bn-relu"],
    "fitness": {
        "data": "digits",
        "anchors": ["resnet-nano"],
        "threads": 1,
        "validation_images": 16,
        "moments": "reestimated",
        "moment_batches": 1,
        "quality": {"steps": 2, "accuracy": 0.0},
        "stability": {"steps": 1},
        "training": {"steps": 5, "validate_every": 0},
    },
    "search": {"lag": 2, "smallest_tournament": 2},
}
CHEAP = {
    "seed": 1,
    "references": ["bn-relu"],
    "fitness": {
        **TABLE["fitness"],
        "anchors": ["resnet-nano", "mobilenet-nano"],
        "ladder": [
            {"anchors": ["mobilenet-nano"], "steps": 2},
            {"anchors": ["mobilenet-nano"], "steps": 4, "gate": 0.11},
        ],
    },
    "search": {
        "lag": 2,
        "smallest_tournament": 2,
        "nodes": 3,  # so few that equal functions come up
        "free_checks": True,
        "attempts": 5,
        "runs_per_function": 2,
        "genotypes_per_function": 2,
    },
}
WORKERS = {"inline": WorkerRecipe(kind="inline"), "one": WorkerRecipe(number=1), "two": WorkerRecipe(number=2)}


def run(place, name, table, workers, candidates):
    """A run of its own with its own cache of references, until the budget is spent."""
    folder = RunFolder(place / name, name)
    recipe = replace(recipe_from_table(table, "here"), workers=workers)
    ended = start_search(folder, recipe, Budget(candidates=candidates))
    assert ended == "candidates"
    return folder


@pytest.mark.slow
def test_the_real_fitness_gives_the_same_digest_whoever_computes(tmp_path):
    folders = [run(tmp_path, name, TABLE, workers, 4) for name, workers in WORKERS.items()]
    assert len({journal_digest(folder.journal) for folder in folders}) == 1
    with folders[-1].reader() as reader:
        header, reference = reader.header(), reader.references()[0]
        assert header["data"]["name"].startswith("digits")
        assert isinstance(reference.outcome, Scores)
        assert {stage.name for stage in reference.outcome.stages} == {"quality", "stability", "training"}
        assert sum(stage.steps for stage in reference.outcome.stages if stage.name != "stability") == 5
        assert reader.cost()[0] > 0


@pytest.mark.slow
def test_with_the_ladder_too(tmp_path):
    """Rungs on checkpoints, gates, shared scores: none of it depends on who is quicker."""
    whole = run(tmp_path, "inline", CHEAP, WORKERS["inline"], 12)
    pieces = run(tmp_path, "pieces", CHEAP, WORKERS["two"], 5)
    assert resume_search(pieces, Budget(candidates=12)) == "candidates"
    assert journal_digest(whole.journal) == journal_digest(pieces.journal)
    with pieces.reader() as reader:
        rows = list(reader.candidates())
        stages = {stage.label for stage in read_ledger(reader)}
    assert {"rung 1", "rung 2", "quality", "stability", "training"} <= stages
    assert any(isinstance(row.outcome, Rejected) and row.outcome.test == Test.RUNG for row in rows)


def test_a_recipe_for_the_proxy_task_is_checked_to_the_last_key():
    wrong = {**TABLE, "fitness": {**TABLE["fitness"], "quality": {"stepz": 2}}}
    with pytest.raises(ValueError, match=r"here \[fitness\]: quality: unknown key 'stepz'. Did you mean 'steps'"):
        recipe_from_table(wrong, "here")
