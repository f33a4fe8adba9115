"""Processes that work together, as torchrun would start them, on this machine's loopback alone."""

import os
import random
import socket
import sys

import torch
import torch.multiprocessing as multiprocessing

from evonorm.training import torchrun_ranks


def on_two_ranks(work, *arguments, timeout=170):
    """Calls `work(rank, *arguments)` in two processes, which must both come to their end."""
    on_ranks(2, work, *arguments, timeout=timeout)


def on_ranks(ranks, work, *arguments, timeout=170):
    """The same in this many."""
    port = free_port()
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=one_rank, args=(work, rank, ranks, port, arguments)) for rank in range(ranks)]
    for child in children:
        child.start()
    for child in children:
        child.join(timeout)
    codes = [child.exitcode for child in children]
    for child in children:
        child.kill()  # one that waits for a rank that has failed
    assert codes == [0] * ranks, f"ended with {codes}, None for one that did not end in {timeout} s"


def free_port():
    """One below those that the system hands out by itself: another test's connection cannot take it meanwhile."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as place:
            try:
                place.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


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
    sys.stdout.flush()
    # A DistributedDataParallel keeps gloo's threads alive behind destroy_process_group; one that lets go of a tensor
    # while the interpreter comes down aborts the process (seen on a busy machine, torch 2.15).
    os._exit(0)
