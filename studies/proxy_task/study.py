"""The paper's proxy task on its own three anchors: what its rejection tests say of every layer, and how far three come.

python -m studies.proxy_task.study              # what is kept
FRESH=1 python -m studies.proxy_task.study      # trains anew, about six hours of one core; goes on after a stop
"""

import argparse
import sys
from pathlib import Path

from evonorm.fitness import TESTS, FitnessRecipe, Progress
from evonorm.pictures import markdown_table, write_figures
from evonorm.report import curves_of_layers
from evonorm.runner import (
    Measurement,
    Verdict,
    distinct_layers,
    evaluate_layers,
    find_verdicts,
    read_fitness_recipe,
    summary_rows,
    verdict_rows,
)
from studies.kept_or_fresh import fresh, kept_layers, results, scratch
from studies.rerank.study import tell

LAYERS = ("bn-relu", "evonorm-b0", "evonorm-s0")


def recipe() -> FitnessRecipe:
    return read_fitness_recipe(Path("recipes/paper_b.toml"), ["fitness.threads=1"])


def verdicts() -> list[Verdict]:
    """Of every named layer, in one training of 100 steps and one ascent on each anchor."""
    own, layers = recipe(), distinct_layers() if fresh() else kept_layers("proxy_task", "verdict")
    return list(find_verdicts(layers, own, [0], results("proxy_task"), _tell_last))


def _tell_last(layer: str, _: int, event: Progress) -> None:
    if event.step == event.steps:
        print(f"{layer}: {event.stage} on {event.anchor}: {event.steps} steps done", file=sys.stderr, flush=True)


def trained() -> list[Measurement]:
    """To the last of 2000 steps, with test pictures."""
    return evaluate_layers(LAYERS, recipe(), [0], watch=tell, kept=results("proxy_task"), test_set=True)


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    anchors = recipe().anchors
    columns = ["layer", *(f"{anchor}: {test}" for anchor in anchors for test in TESTS)]
    print(markdown_table(columns, verdict_rows(verdicts(), anchors)))
    measured = trained()
    columns = ["anchor", "layer", "validation %", "test %", "s a step"]
    print(markdown_table(columns, summary_rows(measured, anchors, ("accuracy", "test_accuracy"))))
    write_figures(curves_of_layers({each.layer: [each.outcome] for each in measured}), scratch("proxy_task"))


if __name__ == "__main__":
    main()
