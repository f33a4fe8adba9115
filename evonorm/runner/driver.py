"""The loop of a search: ask, hand out, hear, write down, tell. It owns no state that the journal does not have."""

import contextlib
import gc
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from evonorm.journal import (
    Candidate,
    CandidateVerdict,
    End,
    Event,
    Failed,
    Journal,
    Origin,
    Outcome,
    Progress,
    Proposal,
    Reader,
    Scores,
    progress_from_json,
)
from evonorm.runner.budget import Budget
from evonorm.runner.evaluation_task import outcome_of
from evonorm.runner.recipe import Recipe
from evonorm.runner.references import TIME_REFERENCE, ReferenceCache, stage_limits
from evonorm.search import Search
from evonorm.workers import MOST_LOSSES, Broken, Finished, Report, Task, WorkerNote, Workers

ATTEMPTS = 2  # a candidate whose evaluation breaks this often in one session is out
FROM_OUTSIDE = {  # reasons that need not be the candidate's, in words; its time limit has its own
    "lost": f"was lost with its worker {MOST_LOSSES} times",
    "crash": "failed (crash), which another session may not",
    "memory": "failed (memory), which another session may not",
}
ASKED_AT_ONCE = 500  # proposals per transaction, for when next to all are turned down at once


@dataclass(frozen=True)
class At:
    """Where a candidate is: what its worker said last and when, and when this stage and its first step began."""

    progress: Progress
    told: float
    since: float
    first: float | None  # None before any step


class Display(Protocol):
    """What shows a session while it runs."""

    def show(self, driver: "Driver") -> None: ...

    def close(self) -> None: ...


class Audience(Protocol):
    """Who is told about a search."""

    def say(self, text: str) -> None: ...

    def watch(self, reader: Reader, title: str) -> Display | None:
        """What shows the session that is about to begin, if anything does."""
        ...


class Silence:
    """Nobody is told, nothing is shown."""

    def say(self, text: str) -> None: ...

    def watch(self, reader: Reader, title: str) -> None: ...


class Driver:
    """One session of a search. `run` returns why it ended; `stop` makes it end soon."""

    def __init__(
        self,
        recipe: Recipe,
        search: Search,
        journal: Journal,
        workers: Workers,
        budget: Budget,
        cache: ReferenceCache | None = None,
        display: Display | None = None,
    ) -> None:
        self.recipe, self.search, self.journal, self.workers = recipe, search, journal, workers
        self.budget, self.cache, self.display = budget, cache, display
        self.started = time.monotonic()
        self.left_at_start = self.left()
        self.verdicts: Counter[CandidateVerdict] = Counter()
        self.in_flight: dict[int, Proposal] = {}
        self.at: dict[int, At] = {}  # where those in flight are
        self.begun: dict[int, float] = {}  # when they were handed out
        self.backlog: deque[Proposal] = deque()
        self.attempts: Counter[int] = Counter()
        self.losses: Counter[int] = Counter()
        self.anchors: tuple[str, ...] = ()
        self.best: dict[str, float] = {}  # accuracy by anchor, references not among them
        self.references: list[Candidate] = []
        self.judged = 0  # outcomes that workers gave in this session
        self.more_to_ask = False  # than fits into one transaction
        self.stopping = False
        self.broken: str | None = None  # why nothing can be evaluated at all

    def take_up(
        self,
        pending: list[Proposal],
        verdicts: dict[CandidateVerdict, int],
        best: dict[str, float],
        references: list[Candidate],
    ) -> None:
        """What earlier sessions left in flight, counted and found, and how long the references took."""
        self.backlog.extend(pending)
        self.best.update(best)
        self.references.extend(references)
        self.verdicts.update({verdict: number for verdict, number in verdicts.items() if verdict.kind != "pending"})
        self.anchors = self.search.islands.anchors
        for reference in references:
            if reference.proposal.name == TIME_REFERENCE and reference.outcome is not None:
                self.workers.time_limits = stage_limits(reference.outcome, self.recipe.workers)

    def run(self) -> str:
        reports: list[Report] = []
        with _what_is_there_not_searched_for_garbage():
            while not (ended := self.turn(reports)):
                reports = self.workers.wait(self._patience())
        return ended

    def turn(self, reports: list[Report]) -> str | None:
        """Takes in what workers report and hands out what comes next; why the session ends, once it does."""
        with self.journal.transaction():
            for report in reports:
                self._hear(report)
            self._ask()
        if self.broken:
            raise ValueError(self.broken)
        self._hand_out()
        if self.display:
            self.display.show(self)
        return self._ended()

    def thrown_away(self) -> dict[str, float]:
        """What a session that ends now leaves unfinished: how many evaluations, and the worker seconds in them."""
        now = time.monotonic()
        return {"unfinished": len(self.in_flight), "seconds": sum(now - self.begun[index] for index in self.in_flight)}

    def stop(self) -> None:
        self.stopping = True

    def seconds_left(self) -> float | None:
        if self.budget.minutes is None:
            return None
        return max(0.0, self.budget.minutes * 60 - (time.monotonic() - self.started))

    def _ended(self) -> str | None:
        if self.stopping:
            return End.STOPPED
        if self.seconds_left() == 0:
            return End.MINUTES
        return self._spent() if not self.in_flight and not self.backlog else None

    def _spent(self) -> str | None:
        """The bound on the whole run that is met; in strict order it depends on nothing but the search's own state."""
        return next((name for name, left in self.left().items() if left == 0), None)

    def left(self) -> dict[str, int]:
        """What each bound on the whole run leaves."""
        bounds = (
            ("candidates", self.budget.candidates, self.search.candidates),
            ("steps", self.budget.steps, self.search.known_steps),
            ("proposals", self.budget.proposals, max(0, self.search.proposed - len(self.search.references))),
        )
        return {name: max(0, bound - done) for name, bound, done in bounds if bound is not None}

    def _patience(self) -> float:
        if self.more_to_ask:
            return 0.0
        left = self.seconds_left()
        return 0.5 if left is None else min(0.5, left)

    def _ask(self) -> None:
        self.more_to_ask = False
        for _ in range(ASKED_AT_ONCE):
            room = self.workers.capacity - len(self.in_flight) - len(self.backlog)
            if room <= 0 or self.stopping or self.broken or not self.search.ready() or self._spent():
                return
            proposal = self.search.ask()
            self.journal.add_proposal(proposal)
            if proposal.settled is not None:
                self.verdicts[proposal.settled.verdict] += 1
            elif proposal.name and self.cache and (known := self.cache.find(proposal)):
                self.journal.add_event(Event.REFERENCE_FROM_CACHE, {"candidate": proposal.index})
                self._settle(proposal, known)
            else:
                self.backlog.append(proposal)
        self.more_to_ask = True

    def _hand_out(self) -> None:
        while self.backlog and len(self.in_flight) < self.workers.capacity:
            proposal = self.backlog.popleft()
            self.in_flight[proposal.index] = proposal
            self.begun[proposal.index] = time.monotonic()
            self.workers.submit(Task(proposal.index, self.recipe.evaluate, self._arguments(proposal)))

    def _arguments(self, proposal: Proposal) -> dict[str, Any]:
        return {
            "number": proposal.index,
            "layer": proposal.name or proposal.graph.encode(),
            "named": proposal.name is not None,
            "seed": proposal.seed,
            "threads": self.recipe.threads,
            "fitness": self.recipe.fitness,
        }

    def _hear(self, report: Report) -> None:
        if isinstance(report, WorkerNote):
            if report.kind == "stage":
                self._note_stage(report)
            else:
                self.journal.add_event(report.kind, report.details)
            return
        proposal = self.in_flight.pop(report.task)
        self.at.pop(report.task, None)
        self.begun.pop(report.task, None)
        outcome = self._outcome(report)
        if isinstance(outcome, Failed):
            self._fail(proposal, outcome)
            return
        self.judged += 1
        self._settle(proposal, outcome)
        if proposal.name and self.cache:
            self.cache.keep(proposal, outcome)

    def overhear(self, note: WorkerNote) -> None:
        """How far a worker is that computes in this very process, from inside of its evaluation."""
        self._note_stage(note)
        if self.display:
            self.display.show(self)

    def _note_stage(self, note: WorkerNote) -> None:
        task, progress, now = note.details["task"], progress_from_json(note.details["stage"]), time.monotonic()
        before = self.at.get(task)
        since = before.since if before and before.progress.key == progress.key else now
        first = before.first if before and before.first is not None else (now if progress.step else None)
        self.at[task] = At(progress, now, since, first)

    def _outcome(self, report: Finished | Broken) -> Outcome:
        """What a worker's report amounts to; scores on other anchors than the others' are garbage."""
        outcome = outcome_of(report)
        if isinstance(outcome, Scores):
            anchors = tuple(sorted(outcome.accuracies))
            if self.anchors not in ((), anchors):
                return Failed("garbage", f"scores on {anchors}, the others are on {self.anchors}")
            self.anchors = anchors
        return outcome

    def _fail(self, proposal: Proposal, outcome: Failed) -> None:
        """Tries once more, then gives the candidate up; a reference that breaks means that nothing can be judged.

        A candidate that was lost with its worker is not to blame, as long as it does not happen again and again.
        """
        lost = outcome.reason == "lost"
        counted, most = (self.losses, MOST_LOSSES) if lost else (self.attempts, ATTEMPTS)
        counted[proposal.index] += 1
        body = {"candidate": proposal.index, "reason": outcome.reason, "error": outcome.error}
        self.journal.add_event(Event.ATTEMPT_FAILED, body)
        if outcome.reason == "time":
            self.journal.add_event(Event.NOT_REPRODUCIBLE, {"why": f"candidate {proposal.index} met its time limit"})
        if counted[proposal.index] < most:
            self.backlog.appendleft(proposal)
        elif proposal.origin == Origin.REFERENCE:
            self.broken = (
                f"the reference {proposal.name} cannot be evaluated, so nothing can be judged: {outcome.error}"
            )
        else:
            if why := FROM_OUTSIDE.get(outcome.reason):
                self.journal.add_event(Event.NOT_REPRODUCIBLE, {"why": f"candidate {proposal.index} {why}"})
            self._settle(proposal, outcome)

    def _settle(self, proposal: Proposal, outcome: Outcome) -> None:
        self.attempts.pop(proposal.index, None)
        self.losses.pop(proposal.index, None)
        self.journal.add_outcome(proposal.index, outcome)
        self.search.tell(proposal.index, outcome)
        self.verdicts[outcome.verdict] += 1
        if proposal.origin == Origin.REFERENCE:
            self.references.append(Candidate(proposal, outcome))
        elif isinstance(outcome, Scores):
            for anchor, accuracy in outcome.accuracies.items():
                self.best[anchor] = max(accuracy, self.best.get(anchor, 0.0))
        if proposal.name == TIME_REFERENCE:
            self.workers.time_limits = stage_limits(outcome, self.recipe.workers)


@contextlib.contextmanager
def _what_is_there_not_searched_for_garbage() -> Iterator[None]:
    """A tenth of the driver's time went into looking through torch's modules for garbage, again and again."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
