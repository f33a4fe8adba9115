"""From what was seen to what is done: a verdict for every normalization, and how its activation is taken out.

Nothing is guessed. A normalization whose output goes several ways, whose activation cannot be taken out alone, or that
was never reached is named with the reason, and left alone.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from torch import Tensor, nn

from evonorm.conversion.activations import BENDING
from evonorm.conversion.norms import INSTANCE, OURS, Norm
from evonorm.conversion.rewrite import CannotRewriteError, edit_of
from evonorm.conversion.seen import Event, NormCall, Seen, Site
from evonorm.conversion.table import AFFINE, CONVERT, KEEP, LEAVE, Position
from evonorm.conversion.watch import CARRIERS


@dataclass(frozen=True)
class TakeModule:
    """The activation module of this name becomes an Identity, wherever it is registered."""

    name: str


@dataclass(frozen=True)
class TakeSlot:
    """The module under this name of this Sequential becomes an Identity; elsewhere it stays."""

    owner: str
    child: str


@dataclass(frozen=True)
class TakeCall:
    """The call at this place of a method is left out, for this module alone."""

    site: Site


Taking = TakeModule | TakeSlot | TakeCall


@dataclass(frozen=True)
class Decision:
    """A position, how its activation is taken out, and what the activation is: a module's name or a function."""

    position: Position
    takings: tuple[Taking, ...] = ()
    activation: str | Callable[[Tensor], Tensor] | None = None

    @property
    def name(self) -> str:
        return self.position.name

    def left(self, why: str) -> "Decision":
        return Decision(replace(self.position, action=LEAVE, why=why))


def decide(model: nn.Module, seen: Seen, only: Sequence[str], without_activation: str) -> list[Decision]:
    """A decision for every normalization, those that ran first, in that order."""
    names = [*seen.calls, *(name for name in seen.norms if name not in seen.calls)]
    decisions = {name: first_verdict(name, seen, without_activation) for name in names}
    for name, decision in decisions.items():
        if decision.position.action != LEAVE and not is_part(name, only):
            decisions[name] = Decision(replace(decision.position, action=KEEP, why="not among the parts asked for"))
    return list(with_takings(model, seen, decisions).values())


def is_part(name: str, only: Iterable[str]) -> bool:
    """Whether a pattern is this name's, or that of a module around it."""
    parts = name.split(".")
    return any(fnmatchcase(".".join(parts[:end]), pattern) for pattern in only for end in range(1, len(parts) + 1))


def first_verdict(name: str, seen: Seen, without_activation: str) -> Decision:
    """What the uses of its output say about one normalization."""
    norm, calls = seen.norms[name], seen.calls.get(name, [])
    blank = Decision(Position(name, norm.text, norm.channels, norm.activation or "", "", LEAVE))
    why = why_not(name, norm, calls)
    if why:
        return blank.left(why)
    if norm.activation:
        return Decision(replace(blank.position, where="inside the normalization", action=CONVERT))
    verdicts = list(dict.fromkeys(verdict_of(call) for call in calls))
    if len({(activation, problem) for activation, _, problem in verdicts}) > 1:
        return blank.left("it runs several times, and not always with the same behind it: " + several(verdicts))
    activation, _, problem = verdicts[0]
    position = replace(blank.position, activation=activation, where=" or ".join(where for _, where, _ in verdicts))
    if problem:
        return Decision(position).left(problem)
    if activation:
        return Decision(replace(position, action=CONVERT))
    return Decision(replace(position, action=AFFINE if without_activation == "affine" else KEEP))


def why_not(name: str, norm: Norm, calls: Sequence[NormCall]) -> str:
    """What keeps a normalization from being replaced, whatever its activation."""
    if norm.kind == OURS:
        return doubled(calls) or norm.why_not
    if norm.why_not:
        return norm.why_not
    if name == "":
        return "it is the model itself; put it into a Sequential"
    if not calls:
        return "the example never reached it"
    for call in calls:
        if not 2 <= len(call.shape) <= 5 or call.shape[1] != norm.channels:
            return f"its input {call.shape} does not have {norm.channels} channels at axis 1"
    if any(call.plain is False for call in calls):
        return "it does more than its class says: its forward is not what its parameters give"
    if all(call.plain is None for call in calls):
        return "it runs in training only, and has a forward of its own"
    if norm.kind == INSTANCE and any(len(call.shape) == 2 for call in calls):
        return "its input has no batch axis"
    return ""


def doubled(calls: Sequence[NormCall]) -> str:
    """Our own layer with an activation behind it: what `norm_layer=EvoNormS0` gives in torchvision."""
    events = [use for call in calls for use in call.uses if isinstance(use, Event)]
    return f"doubled: it has its own activation, and {events[0].name} comes behind it" if events else ""


def verdict_of(call: NormCall) -> tuple[str, str, str]:
    """(activation, where it was found, what is unclear) for one run."""
    events = [use for use in call.uses if isinstance(use, Event)]
    others = [use for use in call.uses if isinstance(use, str)]
    names = {event.name for event in events}
    if not call.uses:
        return "", "", "nothing that can be seen uses its output"
    if events and (others or len(names) > 1):
        used = ", ".join([*sorted(names), *others])
        return events[0].name, place_of(events[0]), f"its output is used {len(call.uses)} times: {used}"
    if events:
        return events[0].name, " and ".join(dict.fromkeys(place_of(event) for event in events)), ""
    bending = [use for use in dict.fromkeys(others) if use in BENDING]
    if bending:
        return "", "", f"{', '.join(bending)} behind it: no activation that counts, a gate, or one written by hand"
    carried = [(through, name) for through, name in call.later if through in CARRIERS]
    if carried:
        return "", "", f"{carried[0][1]} comes only behind {carried[0][0]}"
    if call.later:
        return "", f"{call.later[0][1]} after a sum", ""
    return "", f"then {', '.join(dict.fromkeys(others))}", ""


def place_of(event: Event, taking: Taking | None = None) -> str:
    """Where an activation stands, in words; with how it is taken out, whether it stays for others."""
    if event.module is not None:
        shared = isinstance(taking, TakeCall | TakeSlot)
        return f"module {event.module}, shared" if shared else f"module {event.module}"
    return f"call in {event.site.text}" if event.site is not None else "call in a function"


def several(verdicts: Iterable[tuple[str, str, str]]) -> str:
    return "; ".join(sorted(problem or activation or where for activation, where, problem in verdicts))


def with_takings(model: nn.Module, seen: Seen, decisions: dict[str, Decision]) -> dict[str, Decision]:
    """Adds how each activation is taken out. One that cannot be leaves its normalization alone, which may bind others:
    an activation module is taken out only if everything before it is converted. So again, until nothing changes."""
    while True:
        converted = {name for name, each in decisions.items() if each.position.action == CONVERT}
        after = {name: with_taking(model, seen, each, converted) for name, each in decisions.items()}
        if {name for name, each in after.items() if each.position.action == CONVERT} == converted:
            return after
        decisions = after


def with_taking(model: nn.Module, seen: Seen, decision: Decision, converted: set[str]) -> Decision:
    if decision.position.action != CONVERT or seen.norms[decision.name].activation:
        return decision
    events = [event for event in seen.events if event.call is not None and event.call.norm == decision.name]
    chosen: list[Taking] = []
    for event in events:
        found = taking_for(model, seen, event, converted)
        if isinstance(found, str):
            return decision.left(found)
        chosen.append(found)
    first = events[0]
    activation = first.module if first.module is not None else first.repeat
    if activation is None:
        return decision.left(f"{first.name} takes further tensors")
    where = " and ".join(dict.fromkeys(place_of(event, taking) for event, taking in zip(events, chosen, strict=True)))
    return Decision(replace(decision.position, where=where), tuple(dict.fromkeys(chosen)), activation)


def taking_for(model: nn.Module, seen: Seen, event: Event, converted: set[str]) -> Taking | str:
    """The mildest way to take out an activation without touching any other use of it; in words why there is none."""

    def all_converted(same: Callable[[Event], bool]) -> bool:
        return all(each.call is not None and each.call.norm in converted for each in seen.events if same(each))

    if event.module is not None and all_converted(lambda each: each.module == event.module):
        return TakeModule(event.module)
    if event.slot is not None and all_converted(lambda each: each.slot == event.slot):
        return TakeSlot(*event.slot)
    site = event.site
    if site is None:
        return f"{event.name} is called in a function that belongs to no module"
    if site in seen.busy:
        return f"{event.name} is called at a place of {site.text} that runs other things, too"
    if not all_converted(lambda each: each.site == site):
        return f"{event.name} is called at a place of {site.text} that serves others, too"
    try:
        edit_of(type(model.get_submodule(site.owner)), site.method, [site.span])
    except CannotRewriteError as error:
        return f"{event.name} cannot be taken out of {site.text}: {error}"
    return TakeCall(site)
