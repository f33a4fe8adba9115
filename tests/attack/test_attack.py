"""A little of every attack; `make attack MINUTES=30` is the long one."""

import pytest

pytest.importorskip("starlette")
pytest.importorskip("sklearn")

from tests.attack.__main__ import ATTACKS
from tests.attack.frame import Attack, Count, SilentError, attempt_once, go_on, table

TRIES = {
    "formulas": 3000,
    "encodings": 3000,
    "recipes": 400,
    "journals": 150,
    "forged journals": 100,
    "exports": 120,
    "archives": 100,
}
TRIES |= {"checkpoints": 60, "pages": 300, "kernel against eager": 150, "kills of a real search": 6}


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_it_holds(attack, tmp_path):
    count = Count()
    attempt = attack.prepare(tmp_path)
    for number in range(TRIES[attack.name]):
        attempt_once(attempt, f"test {attack.name} {number}", count)
    assert count.broken == 0, "\n".join(count.faults)
    assert count.tries == TRIES[attack.name]


def test_the_frame_tells_how_a_try_ended(tmp_path):
    def prepare(_):
        ends = iter(["fine", ValueError("no"), SilentError("other"), KeyError("oh")] * 1000)

        def attempt(rng):
            end = next(ends)
            if isinstance(end, Exception):
                raise end
            return end

        return attempt

    counts = go_on([Attack("all", prepare)], tmp_path, 0.001, 0)
    count = counts["all"]
    assert count.tries > 4
    assert count.ends["silent"] > 0
    assert count.ends["traceback"] > 0
    assert "other" in count.faults[0]
    assert table(counts).splitlines()[-1].startswith(f"| all | {count.tries:,} |")
