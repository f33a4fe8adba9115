"""Two runs side by side: what each found for what it spent, and whether the difference is more than noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evonorm.foundation import student_t
from evonorm.graph import canonical_key
from evonorm.journal import Ranked, Reader
from evonorm.pictures import Markup
from evonorm.report.facts import duration
from evonorm.report.function_figures import mean_words
from evonorm.report.layer_pictures import formula_picture, simplest
from evonorm.report.tally import Tally

TOP = 5


@dataclass(frozen=True)
class Found:
    """One of a run's best functions, ready to be shown."""

    index: int
    words: str
    math: Markup
    in_both: bool  # the other run came upon the same function


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    name: str
    best: list[Ranked]
    tally: Tally

    def figures(self) -> dict[str, str]:
        """What it has to show, and what that took."""
        found = self.best[0] if self.best else None
        scored = self.tally.count("scores") - len(self.tally.references)
        return {
            "best find": mean_words(found) if found else "none",
            "proposed": f"{self.tally.proposed:,}",
            "scored, references left out": f"{scored:,}",
            "training steps": f"{self.tally.steps:,}",
            "worker time": duration(self.tally.seconds),
            "steps a score": f"{self.tally.steps / scored:,.0f}" if scored else "-",
        }


def side_of(name: str, reader: Reader, tally: Tally, number: int) -> Side:
    return Side(name, tally.ranking.best(reader, number), tally)


def found_by(side: Side, other: Side) -> list[Found]:
    """Its best functions, with whether the other run has them too among as many."""
    theirs = {canonical_key(each.graph) for each in other.best}
    return [
        Found(each.candidate.proposal.index, mean_words(each), formula_picture(simplest(each.graph)),
              canonical_key(each.graph) in theirs)
        for each in side.best[:TOP]
    ]  # fmt: skip


def verdict_words(sides: Sequence[Side]) -> str:
    """Whether the best of one run is beyond the best of the other, as far as their noise tells."""
    first, second = sides
    if not first.best or not second.best:
        return "One of them has scored nothing yet, so there is nothing to compare."
    one, other = first.best[0], second.best[0]
    difference = 100 * (one.average - other.average)
    words = f"The best find of {first.name} has {difference:+.2f} points against that of {second.name}"
    half = _half(one, other)
    if half is None:
        return f"{words}. How far single runs scatter is not known, so this may be luck."
    verdict = "beyond" if abs(difference) > half else "inside"
    return (
        f"{words}, ± {half:.2f} (95 %): {verdict} the noise of these runs. Both are the luckiest of many, and it is one"
        " search against one."
    )


def _half(one: Ranked, other: Ranked) -> float | None:
    """Of the difference of two means, each with the noise of its own run; in points."""
    freedom = min(one.noise.freedom, other.noise.freedom)
    if one.noise.half(1) is None or other.noise.half(1) is None:
        return None
    variance = one.noise.deviation**2 / one.runs + other.noise.deviation**2 / other.runs
    return 100 * student_t(freedom) * math.sqrt(variance)
