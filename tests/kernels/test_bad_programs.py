"""Corrupted programs and calls end in Python errors, never in a crash."""

import numpy as np
import pytest
import torch

from evonorm.graph import CATALOG, Graph, sample_graph
from evonorm.kernels.cpu import library
from evonorm.kernels.cpu.planner import program_of
from evonorm.kernels.cpu.program import Home
from evonorm.kernels.plan import Kind

native = library.find_library()[0]
pytestmark = pytest.mark.skipif(native is None, reason="the native library is not built")


def encoded(formula):
    return program_of(Graph.parse(formula), 1e-5, True).encode()


def test_nonsense_is_refused():
    good = encoded("x / std_bwh(x)")
    for bad in (b"", b"123", good[:-4], good + b"\0\0\0\0", good[:-3], bytes(len(good)), good[4:]):
        with pytest.raises(ValueError):
            native.create(bad)
    with pytest.raises(TypeError):
        native.create("text")


def test_both_opcode_tables_agree():
    from evonorm.kernels.cpu.opcodes import OPCODES

    assert list(native.opcodes().items()) == list(OPCODES.items())


def run_program(handle, program, rng):
    """Runs whatever was accepted, on buffers of the right size."""
    batch, channels, plane = int(rng.integers(1, 4)), int(rng.choice([1, 3, 8, 16])), int(rng.choice([1, 3, 9, 64]))
    x, gy = torch.rand(batch, channels, plane), torch.rand(batch, channels, plane)
    out = torch.empty_like(x)
    saved = torch.zeros(native.saved_floats(handle, batch, channels) + 1)
    vectors = [torch.rand(batch, channels) for _ in range(64)]  # a changed word may make a parameter per sample
    exports = torch.empty(64, channels)
    shape = (batch, channels, plane, 1, int(rng.integers(2)), 0, 1)
    parameters = tuple(v.data_ptr() for v in vectors[: len(program.parameters)])
    gradients = tuple(v.data_ptr() for v in vectors[32 : 32 + len(program.gradients)])
    native.forward(handle, x.data_ptr(), out.data_ptr(), saved.data_ptr(), exports.data_ptr(), parameters, *shape)
    native.backward(
        handle, x.data_ptr(), gy.data_ptr(), out.data_ptr(), saved.data_ptr(), parameters, gradients, *shape
    )


def test_changed_words_never_crash():
    rng = np.random.default_rng(5)
    accepted = 0
    for _ in range(60):
        program = program_of(sample_graph(rng), 1e-5, True, frozenset(("weight", "bias")[: rng.integers(3)]))
        words = np.frombuffer(program.encode(), dtype=np.int32)
        for _ in range(25):
            changed = words.copy()
            for _ in range(int(rng.integers(1, 4))):
                at = int(rng.integers(6, len(changed)))  # the counts of parameters stay as they were
                changed[at] = int(rng.choice([-1, 0, 1, 2, 3, 7, 40, 1 << 20, -(1 << 30), changed[at] + 1]))
            try:
                handle = native.create(changed.tobytes())
            except (ValueError, OverflowError):
                continue
            accepted += 1
            run_program(handle, program, rng)
    assert accepted > 50


def test_calls_that_make_no_sense():
    program = program_of(Graph.parse(CATALOG["evonorm-s0"].formula), 1e-5, True)
    handle = native.create(program.encode())
    x, w = torch.rand(2, 8, 4), torch.rand(8)
    pointers = (w.data_ptr(),) * 3
    good = [handle, x.data_ptr(), x.data_ptr(), 0, 0, pointers, 2, 8, 4, 4, 0, 0, 1]
    native.forward(*good)
    for place, value in ((1, 0), (2, 0), (6, 0), (6, -1), (7, 0), (8, -3), (9, 3), (9, 0), (10, 2), (11, 3)):
        bad = list(good)
        bad[place] = value
        with pytest.raises(ValueError):
            native.forward(*bad)
    for bad in (
        good[:-1],
        [*good, 1],
        [None, *good[1:]],
        [*good[:5], (1,), *good[6:]],
        [*good[:5], (0, 0, 0), *good[6:]],
    ):
        with pytest.raises((TypeError, ValueError)):
            native.forward(*bad)
    native.forward(*good[:-1], 100_000)  # more threads than make sense are fewer threads


def test_an_exchange_that_fails_is_the_calls_own_error():
    program = program_of(Graph.parse("x / std_bwh(x)"), 1e-5, True)
    handle = native.create(program.encode())
    x, w, exports = torch.rand(2, 8, 4), torch.rand(8), torch.empty(1, 8)
    pointers = (w.data_ptr(),) * len(program.parameters)
    call = [handle, x.data_ptr(), x.data_ptr(), 0, exports.data_ptr(), pointers, 2, 8, 4, 4, 0, 0, 1]
    seen = []
    native.forward(*call, lambda numbers: seen.append(len(numbers)))
    assert seen == [8 * (1 + 2 * 16)]  # bytes: a count, 16 means and 16 variances, of which 8 are channels
    with pytest.raises(ConnectionError, match="gone"):
        native.forward(*call, lambda numbers: (_ for _ in ()).throw(ConnectionError("gone")))
    native.forward(*call)
    for bad in ([*call, None], [*call, print, 3], [*call[:6], 0, *call[7:]]):
        with pytest.raises((TypeError, ValueError)):
            native.forward(*bad)


def test_slots_of_one_parameter_must_agree_and_moments_leave_per_channel():
    good = np.frombuffer(encoded("x / std_bwh(x)"), dtype=np.int32)
    first, words = 8, 4  # behind the header come the slots: kind, home, index, constant
    slots = [good[first + words * i : first + words * (i + 1)] for i in range(good[7])]
    for number, slot in enumerate(slots):
        if slot[1] not in (Home.PARAMETER, Home.EXPORT):
            continue
        changed = good.copy()
        changed[first + words * number] = Kind.SAMPLE
        if slot[1] == Home.EXPORT:
            with pytest.raises(ValueError):
                native.create(changed.tobytes())
        other = next(i for i, each in enumerate(slots) if each[1] == Home.PARAMETER and i != number)
        changed[first + words * other + 2] = slot[2]
        with pytest.raises(ValueError):
            native.create(changed.tobytes())
