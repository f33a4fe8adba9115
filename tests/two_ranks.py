"""Two processes that train together, as torchrun would start them, on this machine's loopback alone."""

import os
import socket

import torch
import torch.multiprocessing as multiprocessing

from evonorm.training import torchrun_ranks


def on_two_ranks(work, *arguments, timeout=170):
    """Calls `work(rank, *arguments)` in two processes, which must both come to their end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=one_rank, args=(work, rank, port, arguments)) for rank in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(timeout)
        assert child.exitcode == 0


def one_rank(work, rank, port, arguments):
    torch.set_num_threads(1)
    os.environ |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
    }
    with torchrun_ranks() as device:
        assert device.type == "cpu"
        work(rank, *arguments)
