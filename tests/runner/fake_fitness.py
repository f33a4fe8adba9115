"""Judges by a hash of the layer: as quick as a worker can be, and the same everywhere. Stdlib only."""

import hashlib
import os
import signal
import time
from pathlib import Path


def by_hash(arguments, announce):
    """A third is rejected. `fitness.seconds` makes it slow; FAKE_FITNESS_LOG gets a line per evaluation."""
    settings = arguments["fitness"]
    if log := os.environ.get("FAKE_FITNESS_LOG"):
        with Path(log).open("a") as file:
            layer = arguments["layer"].replace(" ", "_")
            file.write(f"{layer}@{arguments['seed']} {os.getpid()}\n")
    announce({"name": "training", "anchor": "wide"})
    time.sleep(settings.get("seconds", 0.0))
    luck = hashlib.sha256(f"{arguments['layer']} {arguments['seed']}".encode()).digest()
    stages = [{"name": "training", "anchor": "wide", "steps": 10 + luck[0] % 7, "seconds": 0.01}]
    if luck[0] < 80 and not arguments["named"]:
        return {"kind": "rejected", "test": "quality", "anchor": "wide", "figures": {"accuracy": 0.1}, "stages": stages}
    return {"kind": "scores", "accuracies": {"wide": luck[1] / 255, "deep": luck[2] / 255}, "stages": stages}


def by_ladder(arguments, announce):
    """Rungs before `by_hash`, with an accuracy by hash that must reach the rung's gate."""
    stages = []
    for number, rung in enumerate(arguments["fitness"]["ladder"], start=1):
        announce({"name": "rung", "rung": number, "anchor": "wide"})
        luck = hashlib.sha256(f"{number} {arguments['layer']} {arguments['seed']}".encode()).digest()
        figures = {"accuracy": luck[0] / 255}
        where = {"name": "rung", "rung": number, "anchor": "wide"}
        stages.append({**where, "steps": number, "seconds": 0.01, "figures": figures})
        if figures["accuracy"] < rung["gate"] and not arguments["named"]:
            verdict = {"kind": "rejected", "test": "rung", "rung": number, "anchor": None}
            return {**verdict, "figures": figures, "stages": stages}
    outcome = by_hash(arguments, announce)
    return {**outcome, "stages": stages + outcome["stages"]}


def by_ladder_with_errors(arguments, announce):
    """Like `by_ladder`, but one candidate in eight is a bug of the evaluation."""
    if _fault(arguments, ["error", None, None, None]):
        raise RuntimeError("a bug")
    return by_ladder(arguments, announce)


def _fault(arguments, kinds):
    """Which fault this candidate has: one in two has one, and always the same."""
    luck = hashlib.sha256(arguments["layer"].encode()).digest()[3]
    return None if arguments["named"] or luck >= 128 else kinds[luck % len(kinds)]


def faulty(arguments, announce):
    """Like `by_hash`, but some candidates crash, hang, return NaN, return garbage or raise, each time they are run."""
    fault = _fault(arguments, ["crash", "hang", "nan", "garbage", "error"])
    if fault == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "hang":
        announce({"name": "training", "anchor": "wide"})
        time.sleep(1000)
    if fault == "nan":
        return {"kind": "scores", "accuracies": {"wide": float("nan"), "deep": 0.5}}
    if fault == "garbage":
        return ["no outcome"]
    if fault == "error":
        raise RuntimeError("a bug")
    return by_hash(arguments, announce)


def crashes_while(arguments, announce):
    """Like `by_hash`, but as long as the file FAKE_FITNESS_FLAG is there the workers of a few crash."""
    if _fault(arguments, ["crash", None]) and Path(os.environ["FAKE_FITNESS_FLAG"]).exists():
        os.kill(os.getpid(), signal.SIGSEGV)
    return by_hash(arguments, announce)


def broken(arguments, announce):
    raise RuntimeError("the data is missing")


def distance_to_b0(arguments, announce):
    """How near the layer's outputs on a probe are to EvoNorm-B0's; runs the real kernel."""
    import torch

    import evonorm

    torch.set_num_threads(arguments["threads"])
    generator = torch.Generator().manual_seed(0)
    scores = {}
    for anchor, scale in (("small", 1.0), ("large", 4.0)):
        announce(f"probe {anchor}")
        probe = torch.randn(4, 64, 6, 6, generator=generator) * scale + 0.3
        wanted = evonorm.EvoNormB0(64)(probe)
        graph = evonorm.Graph.decode(arguments["layer"]) if not arguments["named"] else None
        layer = evonorm.create_layer(graph or arguments["layer"], 64)
        with torch.no_grad():
            error = float((layer(probe) - wanted).abs().mean())
        if not error < 1e6:
            figures = {"error": repr(error)}
            return {"kind": "rejected", "test": "finite", "anchor": anchor, "figures": figures, "stages": []}
        scores[anchor] = 1 / (1 + error)
    return {"kind": "scores", "accuracies": scores, "stages": []}
