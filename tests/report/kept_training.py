"""Results as `evonorm train` keeps them, with numbers that a test chooses."""

from evonorm.journal import KeptResults

SETTINGS = {"model": "mobilenetv2", "images_per_worker": 64, "pictures": {"size": 64}}
TRAINING = {"steps": 40, "steps_per_epoch": 20.0}


def question(layer, seed=0, settings=None, training=None, task="classify"):
    parts = {"settings": SETTINGS if settings is None else settings, "training": training or TRAINING}
    return {"what": "train", "layer": layer, "task": task, "seed": seed, "threads": 1, **parts}


def answer(accuracy=(0.2, 0.4), losses=(3.0, 1.0), **changes):
    """A training of 40 steps that was measured after each half of them."""
    curve = [[20 * (place + 1), value] for place, value in enumerate(accuracy)]
    measured = {"top-1 accuracy": curve, "top-5 accuracy": [[step, 2 * value] for step, value in curve]}
    whole = {"ending": "reached", "steps": 40, "seconds": 8.0, "measured": measured, "losses": list(losses)}
    return {**whole, "loss_every": 40 // max(1, len(losses)), "waited": 2.0, **changes}


def keep(place, *pairs):
    """Results in a folder or file, as pairs of a question and an answer."""
    kept = KeptResults(place, {"commit": "0123", "versions": {"torch": "2.15"}, "machine": {"processor": "abacus"}})
    for asked, found in pairs:
        kept.keep(asked, found)
    return kept.path
