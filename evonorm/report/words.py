"""The short words of a journal, for people who did not write it: tests, origins, why a session ended."""

TESTS = {
    "free:reads-x": "the output does not depend on x",
    "reads_x": "the output does not depend on x",
    "free:no-batch-moment": "it holds a moment over the batch, which the recipe rules out",
    "free:finite": "output or gradient is not finite on ordinary inputs",
    "free:varies-over-space": "the output is the same at every pixel of a map",
    "free:gradient": "no gradient comes back",
    "free:finite-on-hard-inputs": "not finite on inputs that training may meet, such as zeros or one bright pixel",
    "free:bends": "a straight line within every map, so that depth adds nothing",
    "free:depth-signal": "the signal grows, shrinks or goes blind through a deep random net",
    "duplicate": "equal, as a function, to one that was rejected before or is in training",
    "quality": "after a short training the accuracy was still too low",
    "stability": "the gradient explodes when weights are moved towards larger gradients",
    "training": "the loss was no longer finite in the final training",
}
ORIGINS = {
    "random": "drawn at random",
    "mutation": "mutated from its parent",
    "reference": "a known layer to compare with",
}
ENDS = {
    "minutes": "its time was up",
    "candidates": "it had its number of candidates",
    "steps": "its training steps were spent",
    "proposals": "it had its number of proposals",
    "stopped": "somebody stopped it",
}


def why_it_rejects(test: str) -> str | None:
    """Why this test rejects; None for one that we do not know."""
    if test.startswith("rung "):
        return "too low after a rung of the ladder"
    return TESTS.get(test)


def origin_words(origin: str) -> str:
    return ORIGINS.get(origin, origin)


def end_words(why: object) -> str:
    return ENDS.get(str(why), str(why))
