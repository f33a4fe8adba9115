"""The interface of every search: `ask()` for a proposal, `tell()` what came of it; and who may know what when."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from evonorm.graph import CATALOG, Graph, graph_of
from evonorm.journal import Candidate, Origin, Outcome, Proposal, Rejected, Scores, Test
from evonorm.search.evolution import STEPPING_STONE, Evolution
from evonorm.search.population import Cost
from evonorm.search.random_search import RandomSearch
from evonorm.search.recipe import SearchRecipe
from evonorm.search.screening import Screen, Screened, accept_all
from evonorm.search.variants.clones import Clones
from evonorm.search.variants.islands import Islands
from evonorm.search.variants.known_functions import KnownFunctions


class Search:
    """The state of a search. It is a function of the journal: `restore` on its rows gives it back, bit for bit.

    In strict order the t-th trained candidate knows the outcomes up to the (t - lag)-th and no others, taken in by
    number, so that the same seed gives the same search whatever the number and speed of the workers. In arrival order
    it knows all that came in. What `screen` turns down, and equal functions whose score is known, are settled inside
    `ask` and do not count for the lag.
    The first proposals are the references, which never enter the population.
    """

    def __init__(
        self,
        settings: SearchRecipe,
        seed: int,
        screen: Screen = accept_all,
        references: tuple[str, ...] = (),
        cost: Cost | None = None,
    ) -> None:
        self.settings = settings
        self.seed = seed
        self.screen = screen
        self.references = references
        self.method: Evolution | RandomSearch = (
            Evolution(settings, screen, self._is_clone) if settings.method == "evolution" else RandomSearch(settings)
        )
        self.islands = Islands(settings, cost)
        self.functions = KnownFunctions(settings.runs_per_function)
        self.clones = Clones(settings.most_alike)
        self.proposed = 0  # every proposal
        self.sent = 0  # those that went on to a worker, references included
        self.known = 0  # outcomes of those that the population has taken in
        self.known_steps = 0  # training steps in these
        self._waiting: dict[int, Proposal] = {}  # sent and not yet known, in the order of proposals
        self._functions_waiting: dict[str, int] = {}  # where equal functions share scores: who waits with which
        self._told: dict[int, Outcome] = {}

    @property
    def candidates(self) -> int:
        """How many went to a worker, without the references."""
        return self.sent - min(self.sent, len(self.references))

    def ready(self) -> bool:
        """Whether `ask` may be called: whether all that the next proposal must know is there."""
        return self._take_in() >= self._must_know()

    def ask(self) -> Proposal:
        """The next proposal; the caller evaluates it unless it is settled already."""
        assert self.ready(), "the outcomes that the next proposal must know are not all there"
        index = self.proposed
        if index < len(self.references):
            name = self.references[index]
            proposal = Proposal(
                index, reference_graph(name), Origin.REFERENCE, self._evaluation_seed(index, None), (), self.known, name
            )
        else:
            proposal = self._propose(index)
        self._register(proposal)
        return proposal

    def ask_again(self, failed: Proposal) -> Proposal:
        """A candidate whose evaluation failed, as the next proposal, to be judged with the seed that it had."""
        again = replace(failed, index=self.proposed, origin=Origin.RETRY, parents=(failed.index,), seen=self.known)
        self._register(again)
        return again

    def _propose(self, index: int) -> Proposal:
        draft = self.method.propose(self.islands.of(index), _random_stream(self.seed, index))
        screened = self.screen(draft.graph)
        told_apart = screened.rejected is None or screened.rejected.test == STEPPING_STONE
        function = screened.fingerprint if told_apart else None
        settled = screened.rejected or self._settle(function, screened)
        return Proposal(
            index,
            draft.graph,
            draft.origin,
            self._evaluation_seed(index, function) if settled is None else 0,
            draft.parents,
            self.known,
            rejected=settled if isinstance(settled, Rejected) else None,
            function=function,
            reused=settled if isinstance(settled, Scores) else None,
        )

    def _settle(self, function: str | None, screened: Screened) -> Rejected | Scores | None:
        """What is known without training; None for what is worth one. A further run of a function is no clone."""
        if function is None:
            return None
        known = self.functions.settle(function, self.islands.is_elite) or self._in_training(function)
        if known is not None or self.functions.runs(function):
            return known
        return self.clones.turn_down(screened.signature)

    def _is_clone(self, screened: Screened) -> bool:
        return self.clones.turn_down(screened.signature) is not None

    def _in_training(self, function: str) -> Rejected | None:
        """Turns down the twin of a candidate whose outcome may not be known yet, where equal functions share theirs."""
        twin = self._functions_waiting.get(function) if self.settings.runs_per_function else None
        return None if twin is None else Rejected(Test.DUPLICATE, None, {"in_training": twin})

    def tell(self, index: int, outcome: Outcome) -> None:
        """What came of a proposal that went to a worker, in any order."""
        assert index in self._waiting, f"candidate {index} is not awaited"
        assert index not in self._told, f"candidate {index} was told already"
        self._told[index] = outcome
        self._take_in()
        if self.settings.order == "arrival":
            self._learn(index)

    def restore(self, rows: Iterable[Candidate]) -> list[Proposal]:
        """Takes in a journal's rows (by proposal in strict order, else by arrival); returns what was in flight."""
        for row in rows:
            self._register(row.proposal)
            if row.outcome is not None and row.proposal.settled is None:
                self.tell(row.proposal.index, row.outcome)
            self._take_in()  # also where this one is still in flight: the next may be settled, and must come after
        return [proposal for index, proposal in self._waiting.items() if index not in self._told]

    def _evaluation_seed(self, index: int, function: str | None) -> int:
        """Of the candidate's own, or paired: of the number of the run that this is of its function."""
        which = f"run {self.functions.runs(function)}" if self.settings.paired_seeds else str(index)
        digest = hashlib.blake2b(f"evaluation {self.seed} {which}".encode(), digest_size=4).digest()
        return int.from_bytes(digest) >> 1  # below 2**31

    def _register(self, proposal: Proposal) -> None:
        self.proposed = max(self.proposed, proposal.index + 1)
        if proposal.settled is None:
            self.sent += 1
            self._waiting[proposal.index] = proposal
            if proposal.function:
                self._functions_waiting.setdefault(proposal.function, proposal.index)
            if self.clones.most_alike and proposal.origin != Origin.REFERENCE:
                self.clones.add(proposal.index, self.screen(proposal.graph).signature)
        elif proposal.reused is not None:  # an equal layer, but a genotype of its own, with other mutants
            self._join(proposal, proposal.reused.accuracies)
        elif proposal.rejected is not None and proposal.rejected.test == STEPPING_STONE:
            self.islands.of(proposal.index).add_stone(proposal.index, proposal.graph, proposal.function)

    def _join(self, proposal: Proposal, accuracies: dict[str, float]) -> None:
        signature = self.screen(proposal.graph).signature if self.settings.family_likeness else None
        self.islands.of(proposal.index).add(proposal.index, proposal.graph, accuracies, proposal.function, signature)

    def _must_know(self) -> int:
        return max(0, self.sent - self.settings.lag + 1) if self.settings.order == "strict" else 0

    def _take_in(self) -> int:
        """Strict order: takes in what may be known by now. Returns how many outcomes are known in all."""
        while self.known < self._must_know() and (first := next(iter(self._waiting))) in self._told:
            self._learn(first)
        return self.known

    def _learn(self, index: int) -> None:
        proposal, outcome = self._waiting.pop(index), self._told.pop(index)
        if proposal.function and self._functions_waiting.get(proposal.function) == index:
            del self._functions_waiting[proposal.function]
        self.known += 1
        self.known_steps += sum(stage.steps for stage in outcome.stages)
        known = self.functions.learn(proposal.function, outcome) if proposal.function else None
        if proposal.function and known and known.runs > 1:
            self.islands.rescore(proposal.function, known.accuracies)
        if not isinstance(outcome, Scores):
            self.clones.drop(index)
        elif proposal.origin != Origin.REFERENCE:
            self._join(proposal, known.accuracies if known else outcome.accuracies)


def _random_stream(seed: int, index: int) -> np.random.Generator:
    """That of `default_rng([seed, index])`, which takes half as long from an array."""
    small = seed < 2**32 and index < 2**32
    return np.random.default_rng(np.array([seed, index], np.uint32) if small else [seed, index])


def reference_graph(name: str) -> Graph:
    """The catalog's graph of a reference row."""
    if name not in CATALOG:
        raise ValueError(f"a reference must be a layer of the catalog, got {name!r}. Known: {', '.join(CATALOG)}.")
    return graph_of(name)
