"""What stands above and beside every table of times. The timing itself is `evonorm.runner.timing`."""

import os

import torch

from evonorm.kernels.cpu.library import find_library
from evonorm.runner.surroundings import processor
from evonorm.training import keep_freed_memory

MALLOCS = ("kept", "system")


def choose_malloc(name: str) -> None:
    """kept: freed memory stays with the process, as in `evonorm.training`; system: as glibc does it by itself."""
    if name == "kept":
        keep_freed_memory()


def machine(malloc: str) -> str:
    """The machine, the versions and the allocator's setting, to stand above every table."""
    library = find_library()[0]
    isa = library.isa() if library else "no native library"
    cpu, threads = f"{os.cpu_count()} x {processor()}", torch.get_num_threads()
    return f"{cpu}, {isa}, torch {torch.__version__}, {threads} thread(s), malloc: {malloc}"


def aim(value: float, bound: float | None) -> str:
    """The bound beside a figure, marked where the figure misses it."""
    if bound is None:
        return " " * 14
    return f"<= {bound:<4.2f} {'MISSED' if value > bound else '':6s}"
