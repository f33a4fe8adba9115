"""Everything that the page of a run shows, made from its journal: the same for a report and for the live page."""

import hashlib
from dataclasses import dataclass, field

from evonorm.fitness import COSTS, FamilyStory, family_stories
from evonorm.graph import CATALOG, Graph
from evonorm.journal import Ledger, Noise, Ranked, Reader, Relative, Test, ancestry, average, readable
from evonorm.pictures import Figure, Markup
from evonorm.report.facts import duration, population_window, what_was_run
from evonorm.report.figures import (
    NamedTally,
    calibration_figures,
    frontier_figure,
    funnel_figure,
    histogram_figures,
    main_reference,
    progress_figures,
)
from evonorm.report.function_figures import cost_figure, genealogy_figure
from evonorm.report.layer_pictures import drawing, formula_picture, response_picture, simplest
from evonorm.report.progress import PAPER_WINDOW
from evonorm.report.tally import Tally
from evonorm.report.templates import render_macro

TOP = 10
RANKED = 100  # the best functions, which are sorted into families
HEADINGS = {
    "summary": "What was run and what it cost",
    "funnel": "Funnel",
    "progress": "Search progress",
    "top": f"Top {TOP}",
    "cost": "Accuracy against cost",
    "families": "Families",
    "functions": f"The best {RANKED} functions",
    "frontier": "Pareto frontier",
    "histograms": "Accuracy histograms",
    "calibration": "Calibration between anchors",
    "ledger": "Ledger",
}


@dataclass(frozen=True)
class Card:
    """A function of the top 10, under the name of its best run, ready to be shown."""

    index: int
    formula: str  # simplified, and so is its picture
    raw: str  # as it was found
    math: Markup
    drawing: Markup
    response: Markup
    accuracies: dict[str, float]
    average: float
    half: float | None  # of the 95 % interval of the average
    runs: int  # that the accuracies are the means of
    rejected_runs: int
    steps: int
    duration: str
    ancestry: list[Relative]


@dataclass(frozen=True)
class FamilyRow:
    """A family among the best functions: its head, ready to be shown, and where it comes from."""

    index: int
    math: Markup
    average: float
    half: float | None
    runs: int
    story: FamilyStory


@dataclass(frozen=True)
class FunctionRow:
    """One of the best functions as a line of a table."""

    index: int
    average: float
    half: float | None
    runs: int
    nodes: int
    instructions: float
    family: int  # counted from 1
    formula: str


@dataclass(frozen=True)
class RunPage:
    """One run at one moment. `base` is where its live pages are; a report has none."""

    name: str
    heading: str
    base: str | None
    other: str | None
    facts: list[tuple[str, str]]
    behind: int
    proposed: int
    funnel: Figure
    progress: list[Figure]
    histograms: list[Figure]
    calibration: list[Figure]
    frontier: Figure
    frontier_size: int
    top: list[Card]
    families: list[FamilyRow]
    functions: list[FunctionRow]
    cost: Figure
    genealogy: Figure
    noise: Noise
    anchors: list[str]
    references: dict[str, dict[str, float]]
    reference: str | None
    ledger: Ledger = field(default_factory=Ledger)
    tests: dict[str, str] = field(default_factory=dict)  # that rejected something, in words

    @property
    def reference_average(self) -> float | None:
        return None if self.reference is None else self.average(self.references[self.reference])

    @property
    def reference_formulas(self) -> dict[str, Markup]:
        known = {name: CATALOG[name].formula for name in self.references if name in CATALOG}
        return {name: formula_picture(Graph.parse(formula)) for name, formula in known.items() if formula}

    average = staticmethod(average)
    duration = staticmethod(duration)

    @property
    def seconds(self) -> float:
        """Of all stages."""
        return sum(row.seconds for row in self.ledger.values()) or 1.0

    @property
    def figures(self) -> list[Figure]:
        rest = (self.frontier, self.cost, self.genealogy)
        return [self.funnel, *self.progress, *self.histograms, *self.calibration, *rest]

    def verdict(self, average: float, runs: int) -> str:
        """Whether a mean over so many runs is beyond the noise of its difference to the reference: a class of CSS."""
        half = self.noise.half(runs, 1)
        if half is None or self.reference_average is None or abs(average - self.reference_average) <= half:
            return "soft"
        return "better" if average > self.reference_average else "worse"

    def sections(self) -> dict[str, Markup]:
        return {name: render_macro("sections.html", "section", name, self) for name in HEADINGS}


def run_page(
    reader: Reader, tally: Tally, name: str, base: str | None = None, other: NamedTally | None = None
) -> RunPage:
    """The page of a run as far as its tally has read; `other` is a run to compare its progress with."""
    best = tally.ranking.best(reader, RANKED)
    stories = family_stories(reader, best)
    shown = {each.candidate.proposal.index for each in best}
    runs = [NamedTally(name, tally, population_window(reader, PAPER_WINDOW)), *([other] if other else [])]

    def link(index: int) -> str | None:
        if base is None:  # in a report, its line in the table
            return f"#function-{index}" if index in shown else None
        return f"{base}/candidates/{index}"

    levels = {} if (main := main_reference(tally)) is None else {main: 100 * average(tally.references[main])}
    return RunPage(
        name=name,
        heading=f"Run {name}",
        base=base,
        other=other.name if other else None,
        facts=what_was_run(reader, tally),
        behind=tally.behind,
        proposed=tally.proposed,
        funnel=funnel_figure(tally),
        progress=progress_figures(runs),
        histograms=histogram_figures(tally),
        calibration=calibration_figures(tally, link),
        frontier=frontier_figure(tally, link),
        frontier_size=len(tally.scored.frontier),
        top=[_card(reader, each) for each in best[:TOP]],
        families=[_family_row(story) for story in stories],
        functions=_function_rows(best, stories),
        cost=cost_figure(best, levels, link),
        genealogy=genealogy_figure(reader, best, stories, levels, link),
        noise=tally.ranking.noise(),
        anchors=_anchors(tally),
        references=tally.references,
        reference=main_reference(tally),
        ledger=tally.ledger,
        tests=_tests(tally),
    )


def digest(section: str) -> str:
    """Tells a live page whether it has this section already."""
    return hashlib.blake2b(section.encode(), digest_size=8).hexdigest()


def _anchors(tally: Tally) -> list[str]:
    return tally.scored.anchors or sorted({anchor for row in tally.references.values() for anchor in row})


def _tests(tally: Tally) -> dict[str, str]:
    rejecting = sorted({verdict for verdict, _ in tally.verdicts if verdict.test}, key=lambda verdict: verdict.label)
    found = {verdict.label: Test.explain(str(verdict.test)) for verdict in rejecting}
    return {test: words for test, words in found.items() if words}


def _family_row(story: FamilyStory) -> FamilyRow:
    head = story.family.head
    proposal = head.candidate.proposal
    picture = formula_picture(simplest(proposal.graph))
    return FamilyRow(proposal.index, picture, head.average, head.half, head.runs, story)


def _function_rows(best: list[Ranked], stories: list[FamilyStory]) -> list[FunctionRow]:
    nodes, instructions = COSTS["nodes"], COSTS["instructions"]
    families = {
        each.candidate.proposal.index: number
        for number, story in enumerate(stories, start=1)
        for each in story.family.members
    }
    return [
        FunctionRow(
            index := each.candidate.proposal.index, each.average, each.half, each.runs,
            int(nodes(each.graph)), instructions(each.graph), families[index], each.formula,
        )
        for each in best
    ]  # fmt: skip


def _card(reader: Reader, ranked: Ranked) -> Card:
    proposal = ranked.candidate.proposal
    return Card(
        index=proposal.index,
        formula=ranked.formula,
        raw=readable(proposal.graph),
        math=formula_picture(simplest(proposal.graph)),
        drawing=drawing(proposal.graph),
        response=response_picture(proposal.graph),
        accuracies=ranked.accuracies,
        average=ranked.average,
        half=ranked.half,
        runs=ranked.runs,
        rejected_runs=ranked.rejected_runs,
        steps=ranked.candidate.steps,
        duration=duration(ranked.candidate.seconds),
        ancestry=ancestry(reader, proposal.index),
    )
