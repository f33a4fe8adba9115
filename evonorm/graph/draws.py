"""Small whole numbers from numpy's generator, many at a time.

`rng.integers(n)` takes a microsecond, nearly all of it on the way into numpy, and a random graph needs some 35 numbers,
each bounded by what came before. `quick_draws` gives the very same numbers from a block of the generator's bits, by
numpy's own rule (Lemire, 1805.10941).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

BLOCK = 20  # numbers of 64 bits; a random graph of ten nodes takes 17 of them
HALF = 2**32

Below = Callable[[int], int]


@contextmanager
def quick_draws(rng: np.random.Generator) -> Iterator[Below]:
    """`below(n)` is what `rng.integers(n)` would be; on leaving, the generator is where it would be.

    Within the block nobody else may draw. Other bit generators than numpy's default are asked number by number.
    """
    bits = rng.bit_generator
    if type(bits) is not np.random.PCG64:
        yield lambda bound: int(rng.integers(bound))
        return
    halves = _Halves(bits)
    try:
        yield halves.below
    finally:
        halves.give_back()


class _Halves:
    """The generator's numbers of 64 bits as pairs of 32, the low half first; numpy keeps a second half for later."""

    def __init__(self, bits: np.random.PCG64) -> None:
        state = bits.state
        self._bits = bits
        self._halves: list[int] = [state["uinteger"]] if state["has_uint32"] else []
        self._taken = 0

    def below(self, bound: int) -> int:
        if bound == 1:  # numpy draws nothing for it
            return 0
        while True:
            if self._taken == len(self._halves):
                self._halves = self._bits.random_raw(BLOCK).astype("<u8").view("<u4").tolist()
                self._taken = 0
            product = self._halves[self._taken] * bound
            self._taken += 1
            rest = product % HALF
            if rest >= bound or rest >= (HALF - bound) % bound:  # else some numbers would be likelier than others
                return product // HALF

    def give_back(self) -> None:
        """Leaves numpy's generator as if it had drawn what was taken."""
        left = len(self._halves) - self._taken
        self._bits.advance(-(left // 2))
        state = self._bits.state
        state["has_uint32"], state["uinteger"] = left % 2, self._halves[self._taken] if left % 2 else 0
        self._bits.state = state
