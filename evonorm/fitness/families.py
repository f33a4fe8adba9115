"""Which of a run's functions are one idea: what people want to hear of is the family, not its hundred members."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evonorm.journal import Ranked, Reader, founders
from evonorm.kernels import FAMILY, likeness, signature


@dataclass(frozen=True)
class Family:
    """Functions that are alike, the best one first."""

    members: tuple[Ranked, ...]

    @property
    def head(self) -> Ranked:
        return self.members[0]


@dataclass(frozen=True)
class FamilyStory:
    """A family with where it comes from.

    Attributes:
        founders: the first ancestors of its members, those of the most members first.
        islands: where its members were found; () where the search had one population.
        newest: the number of its latest candidate.
    """

    family: Family
    founders: tuple[int, ...]
    islands: tuple[int, ...]
    newest: int


def family_stories(reader: Reader, ranked: Sequence[Ranked]) -> list[FamilyStory]:
    """The families of these functions, with their founders and islands as the journal tells them."""
    roots = founders(reader, [each.candidate.proposal.index for each in ranked])
    return [_story(family, roots, _islands(reader.header())) for family in families(ranked)]


def _islands(header: Mapping[str, Any]) -> int:
    """How many the search had; a journal from elsewhere may hold anything."""
    found: Any = header
    for key in ("recipe", "search", "islands"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, int) and found > 0 else 1


def _story(family: Family, roots: dict[int, int], islands: int) -> FamilyStory:
    members = [each.candidate.proposal.index for each in family.members]
    first = Counter(roots[index] for index in members)
    homes = tuple(sorted({index % islands for index in members})) if islands > 1 else ()
    return FamilyStory(family, tuple(root for root, _ in first.most_common()), homes, max(members))


def families(ranked: Sequence[Ranked], alike: float = FAMILY) -> list[Family]:
    """Families in the order of their heads: a function joins the first family whose head it is like, or founds one."""
    found: list[list[Ranked]] = []
    for each in ranked:
        mine = signature(each.candidate.proposal.graph)
        heads = (family for family in found if likeness(mine, signature(family[0].candidate.proposal.graph)) >= alike)
        home = next(heads, None)
        if home is None:
            found.append([each])
        else:
            home.append(each)
    return [Family(tuple(members)) for members in found]
