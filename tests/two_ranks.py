"""Processes that work together, as torchrun would start them, on this machine's loopback alone."""

import os
import socket

import torch
import torch.multiprocessing as multiprocessing

from evonorm.training import torchrun_ranks


def on_two_ranks(work, *arguments, timeout=170):
    """Calls `work(rank, *arguments)` in two processes, which must both come to their end."""
    on_ranks(2, work, *arguments, timeout=timeout)


def on_ranks(ranks, work, *arguments, timeout=170):
    """The same in this many."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=one_rank, args=(work, rank, ranks, port, arguments)) for rank in range(ranks)]
    for child in children:
        child.start()
    for child in children:
        child.join(timeout)
    codes = [child.exitcode for child in children]
    for child in children:
        child.kill()  # one that waits for a rank that has failed
    assert codes == [0] * ranks


def one_rank(work, rank, ranks, port, arguments):
    torch.set_num_threads(1)
    os.environ |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
    }
    with torchrun_ranks() as device:
        assert device.type == "cpu"
        work(rank, *arguments)
