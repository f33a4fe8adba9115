"""Which of the rules beyond the paper make a search find more? Arms at equal training steps, judged by fresh seeds.

    python -m studies.exploration.study                       # what is kept
    FRESH=1 python -m studies.exploration.study --workers 1   # searches and judges; goes on where it was stopped

Every arm is the laptop recipe with some rules added, and searches with the same seeds for the same number of training
steps. Then the heads of its best families are trained again under seeds that no search has used, beside BN-ReLU and
EvoNorm-B0. A seed's arms are compared with each other: differences between arms are paired.
"""

import argparse
import statistics
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from evonorm.fitness import family_stories
from evonorm.foundation import estimate
from evonorm.journal import RunFolder, leaderboard
from evonorm.pictures import markdown_table
from evonorm.runner import (
    FIRST_SEED,
    Budget,
    Judged,
    contenders,
    evaluate_layers,
    judged,
    judging_recipe,
    load_recipe,
    resume_search,
    start_search,
)
from evonorm.workers import WorkerRecipe
from studies.kept_or_fresh import STUDIES, fresh, results, run_of, scratch

STUDY = "exploration"
STEPS, TOP, JUDGING_SEEDS = 15_000, 5, 3
BASE = "today"
NEW = ("search.most_alike=0.98", "search.tournament_share=0.25", "search.smallest_tournament=2",
       "search.stone_share=0.25", "search.window=40")  # fmt: skip
ARMS: dict[str, tuple[str, ...]] = {
    BASE: (),
    "no-clones": NEW,
    "islands": (*NEW, "search.islands=4"),
    "local": (*NEW, "search.local_share=0.5"),
    "families": (*NEW, "search.family_likeness=0.95"),
    "average": ("search.criterion=average",),
    "random": ("search.method=random",),
}


@dataclass(frozen=True)
class Found:
    """What one search came to."""

    arm: str
    seed: int
    proposed: int
    scored: int
    families: int
    founders: int
    heads: tuple[str, ...]  # of its best families, in the search's own order
    judged: dict[str, Judged]  # heads and references, by layer

    def lead(self, how_many: int, over: str = "bn-relu") -> float:
        """The mean of the first so many families less a reference, in points: the search chose them, not this table."""
        reference = self.judged[over]
        return 100 * statistics.fmean(self.judged[head].less(reference).mean for head in self.heads[:how_many])


def search(arm: str, seed: int, workers: int) -> None:
    """Begins the search of an arm or goes on with it, up to the number of steps."""
    folder = RunFolder(scratch(STUDY), name_of(arm, seed))
    number = WorkerRecipe(kind="processes", number=workers)
    if folder.journal.exists():
        resume_search(folder, Budget(steps=STEPS), workers=number)
        return
    recipe = load_recipe(Path("laptop"), [*ARMS[arm], f"seed={seed}", f"workers.number={workers}"])
    start_search(folder, recipe, Budget(steps=STEPS))


def name_of(arm: str, seed: int) -> str:
    return f"{arm}-{seed}"


def look_at(arm: str, seed: int, workers: int) -> Found:
    """Reads a search, and judges the best of it where that has not been done."""
    with run_of(STUDY, name_of(arm, seed)) as folder:
        every = contenders(folder, TOP)
        seeds = range(FIRST_SEED, FIRST_SEED + JUDGING_SEEDS)
        layers = [each.layer for each in every]
        measured = evaluate_layers(layers, judging_recipe(folder), seeds, kept=results(STUDY), workers=workers)
        with closing(folder.reader()) as reader:
            ranked = leaderboard(reader, 1000)
            stories = family_stories(reader, ranked)
            proposed = reader.proposed()
        founders = {founder for story in stories for founder in story.founders}
        heads = tuple(each.layer for each in every if each.candidate is not None)
        by_layer = {row.contender.layer: row for row in judged(every, measured)}
        return Found(arm, seed, proposed, len(ranked), len(stories), len(founders), heads, by_layer)


def rows(found: Sequence[Found]) -> list[list[str]]:
    return [
        [each.arm, str(each.seed), f"{each.proposed:,}", str(each.scored), str(each.families), str(each.founders),
         f"{each.lead(1):+.1f}", f"{each.lead(TOP):+.1f}"]
        for each in found
    ]  # fmt: skip


def difference_rows(found: Sequence[Found]) -> list[list[str]]:
    """Every arm less today's, paired by the search's seed: families, and what the best are worth."""
    by_arm = {arm: {each.seed: each for each in found if each.arm == arm} for arm in ARMS}
    table = []
    for arm, mine in by_arm.items():
        common = sorted(mine.keys() & by_arm[BASE].keys())
        if arm == BASE or not common:
            continue
        pairs = [(mine[seed], by_arm[BASE][seed]) for seed in common]
        cells = [_difference([f(ours) - f(theirs) for ours, theirs in pairs]) for f in MEASURES.values()]
        table.append([arm, str(len(common)), *cells])
    return table


MEASURES = {
    "families": lambda each: each.families,
    "founders": lambda each: each.founders,
    "best family": lambda each: each.lead(1),
    f"best {TOP} families": lambda each: each.lead(TOP),
}


def _difference(values: Sequence[float]) -> str:
    found = estimate(values)
    interval = "" if found.low is None else f" [{found.low:+.1f}, {found.high:+.1f}]"
    return f"{found.mean:+.1f}{interval}"


def available(arms: Sequence[str], seeds: int) -> list[tuple[str, int]]:
    """Seed by seed, so that what is there can be compared; a look has what is kept."""
    wanted = [(arm, seed) for seed in range(seeds) for arm in arms]
    return wanted if fresh() else [each for each in wanted if (STUDIES / STUDY / f"{name_of(*each)}.evonorm").exists()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1)
    chosen = parser.parse_args()
    found = []
    if not fresh():
        there = len(available(list(ARMS), chosen.seeds))
        print(f"{there} searches are kept in {STUDIES / STUDY}; nothing is searched. FRESH=1 searches anew.")
    for arm, seed in available(chosen.arms, chosen.seeds):
        if fresh():
            search(arm, seed, chosen.workers)
        found.append(look_at(arm, seed, chosen.workers if fresh() else 0))
        print(" ".join(rows(found[-1:])[0]), flush=True)
    heads = ["arm", "seed", "proposed", "scored", "families", "founders", "best, less BN-ReLU", f"best {TOP}"]
    print(f"\n{STEPS:,} steps each; points of mean accuracy on {JUDGING_SEEDS} fresh seeds\n")
    print(markdown_table(heads, rows(found)))
    print(f"\nLess {BASE}, paired by seed, 95 % intervals\n")
    print(markdown_table(["arm", "n", *MEASURES], difference_rows(found)))


if __name__ == "__main__":
    main()
