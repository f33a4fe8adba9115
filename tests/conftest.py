import pytest
import torch


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
