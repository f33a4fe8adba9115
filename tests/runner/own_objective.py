"""Objectives as people write them, quick and the same everywhere; as a script, a search with one of them."""

import hashlib
import os
import signal
import sys
from pathlib import Path

import evonorm

SEARCH = {"window": 20, "smallest_tournament": 4, "depth_check": False}


def by_hash(layer):
    """Two numbers between 0 and 1. The file KILL_AT counts evaluations down and kills this process at zero."""
    if (counter := os.environ.get("KILL_AT")) and Path(counter).exists():
        left = int(Path(counter).read_text())
        Path(counter).write_text(str(left - 1))
        if left == 0:
            Path(counter).unlink()
            os.kill(os.getpid(), signal.SIGKILL)
    luck = hashlib.sha256(f"{layer.graph.encode()} {layer.seed}".encode()).digest()
    layer.report(step=luck[3], steps=256)
    return {"wide": luck[1] / 255, "deep": luck[2] / 255}


def broken(layer):
    raise RuntimeError("no such data")


if __name__ == "__main__":
    found = evonorm.find_layers(by_hash, "killed", candidates=20, search=SEARCH, runs=sys.argv[1])
    sys.stdout.write(str(len(found)))
