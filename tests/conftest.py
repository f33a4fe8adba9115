import os
import tempfile

import pytest
import torch

_STATE = tempfile.TemporaryDirectory(prefix="evonorm-tests-")
os.environ["TRITON_INTERPRET"] = "1"  # no GPU is needed; Triton reads it when it is imported, by whomever
os.environ["XDG_STATE_HOME"] = _STATE.name  # what is remembered of these runs is not the user's; children inherit it


@pytest.fixture(autouse=True)
def one_thread():
    """Small nets gain nothing from more, and test processes share the cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def seeded():
    """A test that fails today fails tomorrow."""
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def ray_cluster():
    """One Ray cluster on loopback for all slow tests of a session: a head without cores and two nodes."""
    pytest.importorskip("ray")
    from tests.workers import ray_nodes

    with ray_nodes.new_nodes() as cluster:
        yield cluster
    assert not ray_nodes.left_alive(os.getpid()), "Ray left processes behind"
