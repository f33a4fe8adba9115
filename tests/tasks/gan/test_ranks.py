"""Two ranks that train a GAN together against one process that takes both workers in turn, to the bit."""

import os
import socket

import pytest
import torch
import torch.multiprocessing as multiprocessing

from evonorm.tasks.gan.task import GanTask
from evonorm.training import TrainingRecipe, TrainingRun, torchrun_ranks
from tests.tasks.gan.test_task import ADAM, SMALL

TWO = TrainingRecipe(**{**vars(ADAM), "workers": 2})


def trained(layer):
    run = TrainingRun(GanTask(layer, SMALL, TWO, 0), TWO, 0)
    run.advance(3)
    counts = {name: value for name, value in run.task.model.state_dict().items() if "num_batches" not in name}
    return {"weights": counts, "average": run.average.state(), "losses": run.losses}


def work(number, port, place):
    torch.set_num_threads(1)
    os.environ |= {
        "RANK": str(number),
        "LOCAL_RANK": str(number),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
    }
    with torchrun_ranks():
        for layer in ("bn-relu", "evonorm-s0"):
            torch.save(trained(layer), place / f"{layer} {number}.pt")


@pytest.mark.slow
def test_spectral_vectors_and_moments_included(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=work, args=(number, port, tmp_path)) for number in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(timeout=170)
        assert child.exitcode == 0
    for layer in ("bn-relu", "evonorm-s0"):
        alone = trained(layer)
        for number in range(2):
            together = torch.load(tmp_path / f"{layer} {number}.pt", weights_only=True)
            torch.testing.assert_close(together, alone, rtol=0, atol=0)
