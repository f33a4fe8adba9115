import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread():
    """Small nets on two busy cores are many times slower with two threads each."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
