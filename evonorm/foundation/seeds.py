"""Random streams: every one has a seed of its own, made from whole numbers that say what it is for."""

import numpy as np


def seed_from(*parts: int) -> int:
    """One seed for torch from several whole numbers, so that neighbouring ones give unrelated streams."""
    return int(
        np.random.SeedSequence([part & 0xFFFFFFFFFFFFFFFF for part in parts]).generate_state(1, np.uint64)[0] >> 1
    )
