import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evonorm.graph.draws import quick_draws

ANY_BOUND = st.one_of(st.integers(1, 60), st.integers(1, 2**32 - 1), st.sampled_from([1, 2**31 + 1, 2**32 - 1]))


@given(st.integers(0, 2**32), st.lists(ANY_BOUND, max_size=80), st.integers(0, 3))
def test_the_numbers_are_those_of_integers_and_the_generator_goes_on_from_there(seed, bounds, before):
    quick, plain = (np.random.default_rng(seed) for _ in range(2))
    for rng in (quick, plain):
        [rng.integers(7) for _ in range(before)]  # an odd number leaves half of a raw number for later
    with quick_draws(quick) as below:
        assert [below(bound) for bound in bounds] == [int(plain.integers(bound)) for bound in bounds]
    for draw in (lambda rng: rng.integers(5), lambda rng: rng.random(), lambda rng: rng.choice(30, 4).tolist()):
        assert draw(quick) == draw(plain)


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.Philox, np.random.PCG64DXSM])
def test_other_bit_generators_give_their_own_numbers(kind):
    quick, plain = (np.random.Generator(kind(3)) for _ in range(2))
    with quick_draws(quick) as below:
        assert [below(9) for _ in range(40)] == [int(plain.integers(9)) for _ in range(40)]
    assert quick.random() == plain.random()


def test_an_error_inside_leaves_the_generator_where_it_was_then():
    quick, plain = (np.random.default_rng(5) for _ in range(2))
    with contextlib.suppress(KeyError), quick_draws(quick) as below:
        below(10)
        raise KeyError
    plain.integers(10)
    assert quick.integers(100) == plain.integers(100)
