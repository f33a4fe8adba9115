"""How a function is written: text with places for its inputs, and which inputs need brackets there."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

SUM, PRODUCT, MINUS, ATOM, LETTER = range(5)  # how tightly a written value binds

_PLACE = re.compile(r"\{([01])\}")


class Piece(NamedTuple):
    """A written value and how tightly it binds: brackets go around what binds less than its place asks for."""

    text: str
    binding: int

    def at_least(self, binding: int, bracketed: Callable[[str], str]) -> str:
        return self.text if self.binding >= binding else bracketed(self.text)


@dataclass(frozen=True)
class Template:
    """Text in which `{0}` and `{1}` stand for the inputs, and nothing else has a meaning: `\\frac{{0}}{{1}}`.

    `places` says how tightly each input must bind; by default anything may stand there without brackets.
    """

    text: str
    binding: int = ATOM
    places: tuple[int, ...] = (SUM, SUM)

    def fill(self, inputs: Sequence[Piece], bracketed: Callable[[str], str]) -> Piece:
        written = [piece.at_least(place, bracketed) for piece, place in zip(inputs, self.places, strict=False)]
        return Piece(_PLACE.sub(lambda place: written[int(place[1])], self.text), self.binding)
