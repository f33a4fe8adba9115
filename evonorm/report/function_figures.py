"""The best functions of a run as pictures: accuracy against cost, and who came from whom."""

import math
from collections.abc import Sequence

from evonorm.fitness import FamilyStory, cost_front, cost_named
from evonorm.journal import Ranked, Reader, kin
from evonorm.pictures import Axes, Figure, Mark, Person, cost_chart, genealogy
from evonorm.report.figures import PERCENT, Link, no_link

SHOWN_FAMILIES = 5  # with a colour of their own


def mean_words(ranked: Ranked) -> str:
    interval = "" if ranked.half is None else f" ± {100 * ranked.half:.1f}"
    return f"{100 * ranked.average:.2f}{interval} % (n = {ranked.runs})"


def cost_figure(best: Sequence[Ranked], levels: dict[str, float], link: Link = no_link) -> Figure:
    """Every function by the primitives of its simplified formula and its mean; the front is what more of them buy."""
    cost = cost_named("nodes")
    front = {each.ranked.candidate.proposal.index for each in cost_front(best, cost)}
    marks, rows = [], []
    for each in best:
        index, nodes = each.candidate.proposal.index, cost(each.graph)
        words = f"#{index} {mean_words(each)}, {nodes:g} nodes: {each.formula}"
        marks.append((Mark(nodes, 100 * each.average, words, link(index)), index in front))
        rows.append((index, int(nodes), 100 * each.average, each.runs, index in front, each.formula))
    axes = Axes("nodes of the simplified formula", f"mean {PERCENT}", x_whole=True, levels=levels)
    svg = cost_chart("accuracy against cost", marks, axes)
    return Figure("cost", "Accuracy against cost", svg,
                  ("candidate", "nodes", "mean_percent", "runs", "on_the_front", "formula"), rows)  # fmt: skip


def genealogy_figure(
    reader: Reader,
    best: Sequence[Ranked],
    stories: Sequence[FamilyStory],
    levels: dict[str, float],
    link: Link = no_link,
) -> Figure:
    """The best functions and all of their ancestors over time, the first families in colour."""
    family = {
        each.candidate.proposal.index: number for number, story in enumerate(stories) for each in story.family.members
    }
    ranked = {each.candidate.proposal.index: each for each in best}
    islands = 1 + max((island for story in stories for island in story.islands), default=0)
    people = []
    family_line = kin(reader, list(ranked))
    places = {each.index: place for place, (each, _) in enumerate(family_line)}
    for each, parent in family_line:
        known = ranked.get(each.index)
        value = known.average if known else each.average
        home = f", island {each.index % islands}" if islands > 1 else ""
        words = mean_words(known) if known else each.verdict_words
        group = min(family[each.index], SHOWN_FAMILIES) if each.index in family else None
        people.append(
            Person(places[each.index], math.nan if value is None else 100 * value, group,
                   f"#{each.index} {words}{home}: {each.formula}", places.get(parent or -1), link(each.index))
        )  # fmt: skip
    groups = [f"family of #{story.family.head.candidate.proposal.index}" for story in stories[:SHOWN_FAMILIES]]
    groups += ["other families"] if len(stories) > SHOWN_FAMILIES else []
    axes = Axes("in the order of proposals", f"mean {PERCENT}", x_whole=True, levels=levels)
    rows = [
        (each.index, parent, person.value, person.group)
        for (each, parent), person in zip(family_line, people, strict=True)
    ]
    svg = genealogy("who came from whom", people, groups, axes)
    return Figure("genealogy", "Who came from whom", svg, ("candidate", "parent", "percent", "family"), rows)
