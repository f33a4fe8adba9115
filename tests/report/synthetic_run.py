"""Runs of any size that were never computed, written by the real journal: shaped like the proxy task's outcomes."""

import numpy as np

from evonorm.graph import CATALOG, Graph, mutate, sample_graph
from evonorm.journal import Failed, Journal, Proposal, Rejected, Scores, Stage

ANCHORS = ("resnet50-cifar", "mobilenetv2-cifar", "efficientnet-b0-cifar")
REFERENCES = {"bn-relu": 0.71, "evonorm-b0": 0.74}
SLICE = 5000


def write_run(runs, name="night", candidates=50, seed=0, scored_share=0.08, method="evolution"):
    """A finished run with this many candidates beside two references (none at all for 0); returns its journal."""
    folder = runs / name
    folder.mkdir(parents=True)
    path = folder / "journal.sqlite"
    with Journal.create(path, header(name, seed, method)) as journal:
        if candidates:
            with journal.transaction():
                journal.add_event("session started", {"pid": 1, "budget": {"candidates": candidates}})
                for index, reference in enumerate(REFERENCES):
                    add_reference(journal, index, reference, np.random.default_rng([seed, index]))
            add_candidates(journal, candidates, seed, scored_share)
            with journal.transaction():
                journal.add_event("session ended", {"why": "candidates"})
    return path


def header(name, seed=0, method="evolution"):
    recipe = {"seed": seed, "references": list(REFERENCES), "search": {"method": method, "window": 2500}}
    return {
        "name": name,
        "recipe": recipe,
        "identity": recipe,
        "seed": seed,
        "created": "2026-11-15 20:00:00 UTC",
        "data": {"name": "synthetic"},
        "versions": {"python": "3.11", "torch": "2.15.0"},
        "commit": "0123456789abcdef",
        "machine": {"host": "somewhere", "processor": "AMD EPYC", "cores": 2, "system": "Linux"},
    }


def add_reference(journal, index, name, rng):
    proposal = Proposal(index, Graph.parse(CATALOG[name].formula), "reference", seed=index, name=name)
    journal.add_proposal(proposal)
    journal.add_outcome(index, scores(REFERENCES[name], rng))


def add_candidates(journal, candidates, seed=0, scored_share=0.08, first=2):
    rng = np.random.default_rng([seed, first])
    fresh = [sample_graph(rng) for _ in range(min(candidates, 300))]  # drawing 100,000 would take a minute
    parents: list[tuple[int, Graph]] = []
    for start in range(first, first + candidates, SLICE):
        with journal.transaction():
            for index in range(start, min(start + SLICE, first + candidates)):
                add_candidate(journal, index, rng, scored_share, fresh, parents, progress=(index - first) / candidates)


def add_candidate(journal, index, rng, scored_share, fresh, parents, progress):
    """A later candidate is a little better than an earlier one, as in a search that works."""
    if parents and rng.random() < 0.5:
        parent, graph = parents[rng.integers(len(parents))]
        graph, origin, ancestry = mutate(graph, rng), "mutation", (parent,)
    else:
        graph, origin, ancestry = fresh[rng.integers(len(fresh))], "random", ()
    fate = rng.random()
    free = None
    if fate > scored_share * 2.5:
        free = Rejected("reads x", None) if rng.random() < 0.8 else Rejected("finite", None, {"probe": "zeros"})
    journal.add_proposal(Proposal(index, graph, origin, index, ancestry, len(parents), None, free))
    if free is None:
        outcome = trained(fate / (scored_share * 2.5), 0.15 + 0.35 * progress + 0.22 * rng.beta(2, 3), rng)
        journal.add_outcome(index, outcome)
        if isinstance(outcome, Scores):
            parents.append((index, graph))
            del parents[:-50]


def trained(fate, level, rng):
    if fate < 0.4:
        return scores(level, rng)
    if fate < 0.8:
        figures = {"accuracy": 0.1 + 0.1 * rng.random(), "step": 100}
        return Rejected("quality", ANCHORS[0], figures, (Stage("quality", ANCHORS[0], 100, 9.5, figures),))
    if fate < 0.97:
        figures = {"step": int(rng.integers(1, 20)), "largest_norm": 3e9}
        passed = tuple(Stage("quality", anchor, 100, 9.5, {"accuracy": 0.3}) for anchor in ANCHORS)
        return Rejected("stability", ANCHORS[1], figures, (*passed, Stage("stability", ANCHORS[1], 4, 2.0, figures)))
    return Failed("error", "RuntimeError: the worker met its time limit <script>alert(1)</script>")


def scores(level, rng):
    accuracies = {anchor: float(np.clip(level + rng.normal(0, 0.03), 0.08, 0.97)) for anchor in ANCHORS}
    stages = [Stage("quality", anchor, 100, 9.5, {"accuracy": 0.31, "step": 100}) for anchor in ANCHORS]
    stages += [Stage("stability", anchor, 40, 8.0, {"largest_norm": 100.0, "step": 40}) for anchor in ANCHORS]
    for anchor, accuracy in accuracies.items():
        steps = list(range(100, 2001, 100))
        curve = [[step, accuracy * (1 - 0.8 * 0.998**step)] for step in steps]
        losses = [round(2.3 * 0.97**k + 0.4, 4) for k in range(100)]
        figures = {"accuracy": accuracy, "curve": curve, "loss": 0.5, "losses": losses, "step": 2000}
        stages.append(Stage("training", anchor, 1900, 700.0, figures))
    return Scores(accuracies, tuple(stages))
