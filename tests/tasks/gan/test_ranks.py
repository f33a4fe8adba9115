"""Two ranks that train a GAN together against one process that takes both workers in turn, to the bit."""

import pytest
import torch

from evonorm.tasks.gan.task import GanTask
from evonorm.training import TrainingRecipe, TrainingRun
from tests.tasks.gan.test_task import ADAM, SMALL
from tests.two_ranks import on_two_ranks

TWO = TrainingRecipe(**{**vars(ADAM), "workers": 2})


def trained(layer):
    run = TrainingRun(GanTask(layer, SMALL, TWO, 0), TWO, 0)
    run.advance(3)
    counts = {name: value for name, value in run.task.model.state_dict().items() if "num_batches" not in name}
    return {"weights": counts, "average": run.average.state(), "losses": run.losses}


def work(rank, place):
    for layer in ("bn-relu", "evonorm-s0"):
        torch.save(trained(layer), place / f"{layer} {rank}.pt")


@pytest.mark.slow
def test_spectral_vectors_and_moments_included(tmp_path):
    on_two_ranks(work, tmp_path)
    for layer in ("bn-relu", "evonorm-s0"):
        alone = trained(layer)
        for rank in range(2):
            together = torch.load(tmp_path / f"{layer} {rank}.pt", weights_only=True)
            torch.testing.assert_close(together, alone, rtol=0, atol=0)
