"""Rules that were not built, tried on searches that are there: a surrogate, and a rung by training loss.

    python -m studies.exploration.replay      # every kept search of this study and the first round's; trains nothing

**The surrogate** predicts a candidate's score from those that were scored before it: the mean of the most alike five,
weighted by their likeness before any training. It is worth building only where its predictions beat what a tournament
knows already, the parent's score, and among the good ones too.

**The rung** lets only those go on to the other nets whose training loss on the first one is in the better half of the
latest forty. "Lost" are those of a run's best ten that it would have stopped; a rung that knows nothing loses the same
share of them as of all.
"""

import statistics
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from evonorm.journal import Candidate, Scores, Stage, Test, average
from evonorm.kernels import likeness, signature
from evonorm.pictures import markdown_table
from evonorm.runner import correlate
from studies.kept_or_fresh import STUDIES, run_of

FIRST, NEIGHBOURS = 20, 5  # so many are scored before the first prediction; so many are asked
RUNG, LATEST, BEST = "mobilenet-thin", 40, 10


@dataclass(frozen=True)
class Scored:
    """A candidate that was trained to the end."""

    candidate: Candidate

    @property
    def scores(self) -> Scores:
        assert isinstance(self.candidate.outcome, Scores)
        return self.candidate.outcome

    @property
    def accuracy(self) -> float:
        return average(self.scores.accuracies)

    @property
    def parent(self) -> int | None:
        return next(iter(self.candidate.proposal.parents), None)

    def trained(self) -> dict[str | None, Stage]:
        """The last stage on each net."""
        return {stage.anchor: stage for stage in self.scores.stages if stage.name == Test.TRAINING}

    @property
    def loss(self) -> float:
        """Of training: the mean of the last 50 steps, over all nets."""
        return statistics.fmean(stage.figures["loss"] for stage in self.trained().values())

    @property
    def loss_on_the_rung(self) -> float:
        return float(self.trained()[RUNG].figures["loss"])

    @property
    def seconds(self) -> float:
        return sum(stage.seconds for stage in self.scores.stages)

    @property
    def seconds_after_the_rung(self) -> float:
        """On the other nets; their stability test comes before."""
        later = [stage for stage in self.scores.stages if stage.name in (Test.QUALITY, Test.TRAINING)]
        return sum(stage.seconds for stage in later if stage.anchor != RUNG)


def kept_searches() -> dict[str, list[Scored]]:
    """The first round's and this study's, each with what it scored, in the order of proposal."""
    runs = [("search", "b-evolution"), ("search", "s-evolution")]
    runs += [("exploration", path.stem) for path in sorted((STUDIES / "exploration").glob("*.evonorm"))]
    return {run: _scored(study, run) for study, run in runs}


def _scored(study: str, run: str) -> list[Scored]:
    with run_of(study, run) as folder, closing(folder.reader()) as reader:
        indices = sorted(each.index for each in reader.evaluations() if each.average is not None)
        return [Scored(reader.candidate(index)) for index in indices]


def predicted(every: Sequence[Scored], labels: Sequence[float]) -> list[float]:
    """For each that has enough before it: what those say that are most alike."""
    signatures = [signature(each.candidate.proposal.graph) for each in every]
    found = []
    for place in range(FIRST, len(every)):
        alike = np.array([likeness(signatures[place], other) for other in signatures[:place]])
        nearest = np.argsort(alike)[-NEIGHBOURS:]
        found.append(float(np.average(np.array(labels[:place])[nearest], weights=alike[nearest] + 1e-6)))
    return found


def surrogate_row(name: str, every: Sequence[Scored]) -> list[str]:
    accuracies, losses = [each.accuracy for each in every], [each.loss for each in every]
    by_accuracy = list(zip(predicted(every, accuracies), accuracies[FIRST:], strict=True))
    by_loss = list(zip(predicted(every, losses), losses[FIRST:], strict=True))
    middle = statistics.median(accuracies[FIRST:])
    better = [pair for pair in by_accuracy if pair[1] >= middle]
    known = {each.candidate.proposal.index: each.accuracy for each in every}
    parents = [(known[each.parent], each.accuracy) for each in every[FIRST:] if each.parent in known]
    return [name, str(len(by_accuracy)), *map(_correlation, (by_accuracy, by_loss, better, parents))]


def _correlation(pairs: Sequence[tuple[float, float]]) -> str:
    return str(correlate(*zip(*pairs, strict=True), np.random.default_rng(0))) if len(pairs) > 2 else "-"


def goes_on(losses: Sequence[float]) -> list[bool]:
    """Whose loss is at most the median of the latest before it; the first ones all."""
    return [
        place < BEST or loss <= statistics.median(losses[max(0, place - LATEST) : place])
        for place, loss in enumerate(losses)
    ]


def rung_row(name: str, every: Sequence[Scored]) -> list[str]:
    passed = goes_on([each.loss_on_the_rung for each in every])
    best = sorted(range(len(every)), key=lambda place: -every[place].accuracy)[:BEST]
    saved = sum(each.seconds_after_the_rung for each, ok in zip(every, passed, strict=True) if not ok)
    share = saved / sum(each.seconds for each in every)
    stopped, lost = passed.count(False), sum(not passed[place] for place in best)
    return [name, f"{stopped} of {len(every)}", f"{share:.0%}", str(lost), "kept" if passed[best[0]] else "lost"]


def main() -> None:
    found = {run: every for run, every in kept_searches().items() if len(every) > FIRST + 2}
    print("Nothing is trained. Spearman between the surrogate's prediction and the score, 95 % bootstrap intervals\n")
    heads = ["run", "predicted", "accuracy", "training loss", "accuracy, better half", "the parent's score instead"]
    print(markdown_table(heads, [surrogate_row(*each) for each in found.items()]))
    print(f"\nA rung by the training loss on {RUNG}\n")
    heads = ["run", "stopped", "share of the time saved", f"lost of the best {BEST}", "the best one"]
    print(markdown_table(heads, [rung_row(*each) for each in found.items()]))


if __name__ == "__main__":
    main()
