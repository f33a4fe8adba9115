"""One try at a time, and a count of how each ended."""

import random
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

# What the command line turns into one message; anything else is a traceback for the user.
SAID = (ValueError, OSError)


class SilentError(AssertionError):
    """Damage was taken for good: the answer is another one, and nobody said so."""


@dataclass
class Attack:
    """`prepare` gets a folder and returns `attempt`, which gets a random source and returns how the try ended.

    A try that ends in one of `SAID` was refused; `share` is the part of the time that it gets.
    """

    name: str
    prepare: Callable[[Path], Callable[[random.Random], str]]
    share: float = 1.0


@dataclass
class Count:
    """How the tries of one attack ended; `faults` has the first few that should not have."""

    ends: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    @property
    def tries(self) -> int:
        return self.ends.total()

    @property
    def broken(self) -> int:
        return self.ends["silent"] + self.ends["traceback"]


def attempt_once(attempt: Callable[[random.Random], str], seed: str, count: Count) -> None:
    began = time.monotonic()
    try:
        end = attempt(random.Random(seed))
    except SilentError as error:
        end = "silent"
        count.faults.append(f"{seed}: {error}")
    except SAID:
        end = "refused"
    except Exception:
        end = "traceback"
        count.faults.append(f"{seed}: {traceback.format_exc(limit=-3)}")
    count.ends[end] += 1
    count.seconds += time.monotonic() - began


def go_on(attacks: list[Attack], place: Path, minutes: float, seed: int) -> dict[str, Count]:
    """In turns, each as long as its share, until the time is up."""
    counts = {attack.name: Count() for attack in attacks}
    prepared = {}
    for attack in attacks:
        (place / attack.name).mkdir(parents=True)
        prepared[attack.name] = attack.prepare(place / attack.name)
    deadline = time.monotonic() + 60 * minutes
    while time.monotonic() < deadline:
        attack = min(attacks, key=lambda each: counts[each.name].seconds / each.share)
        count = counts[attack.name]
        attempt_once(prepared[attack.name], f"{seed} {attack.name} {count.tries}", count)
    return counts


def table(counts: dict[str, Count]) -> str:
    lines = [
        "| attack | tries | refused with words | went on rightly | silent | tracebacks |",
        "|---|---|---|---|---|---|",
    ]
    for name, count in counts.items():
        right = count.tries - count.ends["refused"] - count.broken
        cells = (count.tries, count.ends["refused"], right, count.ends["silent"], count.ends["traceback"])
        lines.append(f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    return "\n".join(lines)
