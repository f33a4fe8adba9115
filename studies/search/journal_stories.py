"""What a journal tells beside its leaderboard (paper, "Rejection protocols", "Tournament Selection Criterion").

    python -m studies.search.journal_stories NAME [NAME ...] --runs runs

1. How many come near or past a reference on each anchor. The paper: none of 5000 random layers is ahead of BN-ReLU.
2. Whether anchors order layers alike: who learns on one and not on the next, in the order in which they are asked, and
   rank correlations of the scored for each pair, with 95 % bootstrap intervals.
3. What the quality test alone saves: training steps with it, and without it.
4. In how many steps of ascent unstable layers explode. The paper: many in fewer than 5.
5. Pareto against Average selection on the recorded scores: how far ahead a winner is on each anchor.
"""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np

from evonorm.journal import Candidate, Outcome, Reader, Rejected, RunFolder, Scores
from evonorm.pictures import markdown_table
from evonorm.runner import correlate
from evonorm.search import Population, SearchRecipe, tournament_winner

TOURNAMENTS = 5000


def paid_for(reader: Reader) -> list[Candidate]:
    """Candidates that cost something; references are not among them."""
    every = reader.candidates()
    return [c for c in every if c.proposal.origin != "reference" and c.outcome is not None and c.outcome.stages]


def steps_of(outcome: Outcome) -> int:
    return sum(stage.steps for stage in outcome.stages if stage.name != "stability")


def sparsity_rows(scores: Sequence[Scores], references: Mapping[str, Scores]) -> list[list[str]]:
    """How many of the scored have at least a reference's accuracy: on each anchor, and on all of them."""
    anchors = sorted(scores[0].accuracies)
    table = np.array([[each.accuracies[anchor] for anchor in anchors] for each in scores])
    rows = []
    for name, reference in references.items():
        ahead = table >= [reference.accuracies[anchor] for anchor in anchors]
        rows.append([f"at least {name}", *map(str, ahead.sum(axis=0)), str(ahead.all(axis=1).sum())])
    return rows


def learning_rows(outcomes: Sequence[Outcome], anchors: Sequence[str]) -> list[list[str]]:
    """What the quality test found on each anchor; only who learns on one is asked on the next."""
    rows = []
    for anchor in anchors:
        asked = [
            (stage.figures, isinstance(each, Rejected) and (each.test, each.anchor) == ("quality", anchor))
            for each in outcomes
            for stage in each.stages
            if (stage.name, stage.anchor) == ("quality", anchor)
        ]
        blew_up = sum("accuracy" not in figures for figures, _ in asked)
        learnt = [figures["accuracy"] for figures, turned_down in asked if not turned_down]
        best = f"{100 * max(learnt):.1f}" if learnt else "-"
        rows.append([anchor, *map(str, (len(asked), blew_up, len(asked) - blew_up - len(learnt), len(learnt))), best])
    return rows


def pair_rows(scores: Sequence[Scores]) -> list[list[str]]:
    """Spearman's rank correlation over the scored, for each pair of anchors."""
    on = {anchor: [each.accuracies[anchor] for each in scores] for anchor in sorted(scores[0].accuracies)}
    return [[f"{a}, {b}", str(correlate(on[a], on[b], np.random.default_rng(0)))] for a, b in combinations(on, 2)]


def quality_story(outcomes: Sequence[Outcome], fitness: dict) -> str:
    """A candidate that quality turned down would have trained to the end on every anchor, or until it blew up."""
    whole = fitness["training"]["steps"] * len(fitness["anchors"])
    turned_down = [each for each in outcomes if isinstance(each, Rejected) and each.test == "quality"]
    blew_up = [each for each in turned_down if "accuracy" not in each.figures]
    spent = sum(map(steps_of, outcomes))
    without = spent + sum(whole - steps_of(each) for each in turned_down if each not in blew_up)
    return (
        f"quality test: turned down {len(turned_down)} of {len(outcomes)} that trained ({len(blew_up)} by a loss that"
        f" was not finite); {spent:,} training steps with it, {without:,} without: {without / max(spent, 1):.1f} times"
    )


def stability_story(outcomes: Sequence[Outcome]) -> str:
    tested = [each for each in outcomes if any(stage.name == "stability" for stage in each.stages)]
    steps = Counter(
        int(each.figures["step"]) for each in tested if isinstance(each, Rejected) and each.test == "stability"
    )
    early, every = sum(count for step, count in steps.items() if step < 5), sum(steps.values())
    when = ", ".join(f"step {step}: {count}" for step, count in sorted(steps.items()))
    return (
        f"stability test: turned down {every} of {len(tested)} that reached it, {early} in fewer than 5 steps ({when})"
    )


def selection_rows(scores: Sequence[Scores], criteria: Sequence[Literal["pareto", "average"]]) -> list[list[str]]:
    """Mean percentile of the winners on each anchor, among all scored candidates, and the gap between anchors."""
    anchors = sorted(scores[0].accuracies)
    population = Population(window=len(scores))
    for index, each in enumerate(scores):
        population.add(index, None, each.accuracies, None)  # type: ignore[arg-type]
    table = np.array([[each.accuracies[anchor] for anchor in anchors] for each in scores])
    percentiles = 100 * (table[:, None] >= table).mean(axis=1)  # (candidates, anchors)
    rows = []
    for criterion in criteria:
        settings = replace(SearchRecipe(), criterion=criterion, smallest_tournament=8)
        rng = np.random.default_rng(0)
        winners = [tournament_winner(population, settings, rng).index for _ in range(TOURNAMENTS)]
        means = percentiles[winners].mean(axis=0)
        rows.append([criterion, *(f"{mean:.1f}" for mean in means), f"{np.ptp(means):.1f}"])
    spread = [f"{100 * deviation:.2f}" for deviation in table.std(axis=0)]
    return [*rows, ["spread of scores, %", *spread, ""]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    chosen = parser.parse_args()
    for name in chosen.names:
        with RunFolder(chosen.runs, name).reader() as reader:
            outcomes = [candidate.outcome for candidate in paid_for(reader)]
            fitness = reader.header()["recipe"]["fitness"]
            references = {
                str(each.proposal.name): each.outcome
                for each in reader.references()
                if isinstance(each.outcome, Scores)
            }
        print(f"## {name}\n\n- {quality_story(outcomes, fitness)}\n- {stability_story(outcomes)}\n")
        heads = ["quality test", "asked", "not finite", "do not learn", "learn", "best, %"]
        print(markdown_table(heads, learning_rows(outcomes, fitness["anchors"])))
        scores = [each for each in outcomes if isinstance(each, Scores)]
        if len(scores) > 1:
            heading, anchors = f"{len(scores)} scored", sorted(scores[0].accuracies)
            print(markdown_table([heading, *anchors, "all"], sparsity_rows(scores, references)))
            print(markdown_table([heading, "Spearman [95 %]"], pair_rows(scores)))
            print(markdown_table([heading, *anchors, "largest gap"], selection_rows(scores, ("pareto", "average"))))


if __name__ == "__main__":
    main()
