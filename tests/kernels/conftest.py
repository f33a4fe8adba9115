"""Kernel tests run on one thread unless they say otherwise: two test processes with two threads each only wait."""

import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
