"""A short search with the real fitness: four candidates, five training steps each, whoever computes."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from evonorm.experiments.budget import Budget
from evonorm.experiments.recipe import recipe_from_table
from evonorm.experiments.run_search import start_search
from evonorm.journal import RunFolder, Scores, journal_digest
from evonorm.workers import WorkerSettings

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
WORKERS = {"inline": WorkerSettings(kind="inline"), "one": WorkerSettings(number=1), "two": WorkerSettings(number=2)}


@pytest.mark.slow
def test_the_real_fitness_gives_the_same_digest_whoever_computes(tmp_path):
    recipe = recipe_from_table(TABLE, "here")
    digests = set()
    for name, workers in WORKERS.items():
        folder = RunFolder(tmp_path / name, name)  # each with its own cache of references
        console = Console(file=io.StringIO())
        ended = start_search(folder, replace(recipe, workers=workers), Budget(candidates=4), console, None)
        assert ended == "candidates"
        digests.add(journal_digest(folder.journal))
    assert len(digests) == 1
    with folder.reader() as reader:
        header, reference = reader.header(), reader.references()[0]
        assert header["data"]["name"].startswith("digits")
        assert isinstance(reference.outcome, Scores)
        assert {stage.name for stage in reference.outcome.stages} == {"quality", "stability", "training"}
        assert sum(stage.steps for stage in reference.outcome.stages if stage.name != "stability") == 5
        assert reader.cost()[0] > 0


def test_a_recipe_for_the_proxy_task_is_checked_to_the_last_key():
    wrong = {**TABLE, "fitness": {**TABLE["fitness"], "quality": {"stepz": 2}}}
    with pytest.raises(ValueError, match=r"here \[fitness\]: quality: unknown key 'stepz'. Did you mean 'steps'"):
        recipe_from_table(wrong, "here")
