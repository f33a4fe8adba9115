"""Every operation against the official code's stored outputs, and the policies against what they should draw."""

from collections import Counter

import numpy as np
import pytest
import torch

from evonorm.data import PictureSettings
from evonorm.data.photos import augmentation, operations
from evonorm.data.photos.augmentation import AUTOAUGMENT, AUTOAUGMENT_V0, OPERATIONS, RANDAUGMENT, WITH_CONTRAST_BUG
from tests.data.tensorflow_values import STORED_OPERATIONS, unpacked

PICTURE = unpacked(STORED_OPERATIONS["picture"])
AT_NINE = {  # the table of the research note
    "Rotate": 27,
    "ShearX": 0.27,
    "ShearY": 0.27,
    "TranslateX": 90,
    "TranslateY": 90,
    "Color": 1.72,
    "Contrast": 1.72,
    "Brightness": 1.72,
    "Sharpness": 1.72,
    "Posterize": 3,
    "Solarize": 230,
    "SolarizeAdd": 99,
    "Cutout": 36,
}


def test_there_are_sixteen_operations():
    assert set(OPERATIONS) == {each["operation"] for each in STORED_OPERATIONS["outputs"]}
    assert len(OPERATIONS) == 16


@pytest.mark.parametrize("name", OPERATIONS)
def test_arguments(name):
    for policy, reach in (("randaugment", RANDAUGMENT), ("autoaugment", AUTOAUGMENT)):
        for magnitude, wanted in STORED_OPERATIONS["arguments"][policy][name].items():
            found = OPERATIONS[name].argument(float(magnitude), reach)
            assert ([] if found is None else [found]) == wanted
    assert OPERATIONS[name].argument(9, RANDAUGMENT) == pytest.approx(AT_NINE.get(name))
    signed = {each["operation"] for each in STORED_OPERATIONS["outputs"] if each["negated"]}
    assert OPERATIONS[name].signed == (name in signed)


@pytest.mark.parametrize(
    "stored",
    STORED_OPERATIONS["outputs"],
    ids=lambda stored: f"{stored['operation']}-{stored['magnitude']}{'-negated' * stored['negated']}",
)
def test_outputs_are_the_official_codes(stored):
    operation = WITH_CONTRAST_BUG[stored["operation"]]
    given = [] if stored["argument"] is None else [stored["argument"]]
    given += STORED_OPERATIONS["centre"] if stored["operation"] == "Cutout" else []
    before = PICTURE.clone()
    found, wanted = operation.change(before, *given), unpacked(stored["picture"])
    assert torch.equal(before, PICTURE)
    if stored["operation"] == "Sharpness":  # whole means: see there
        difference = (found.int() - wanted.int()).abs()
        assert difference.max() <= 2
        assert (difference > 0).float().mean() < 0.005
    else:
        assert torch.equal(found, wanted)


def test_most_stored_outputs_differ_from_the_picture():
    """Else they could not tell a right operation from none."""
    changed = {
        each["operation"] for each in STORED_OPERATIONS["outputs"] if each["picture"] != STORED_OPERATIONS["picture"]
    }
    assert changed == set(OPERATIONS)


@pytest.mark.parametrize("factor", [0.1, 0.64, 1.0, 1.72, 3.16])
def test_contrast_without_the_bug_turns_about_the_mean_grey_level(factor):
    levels = PICTURE.numpy().astype(float)
    grey = np.floor(np.tensordot([0.2989, 0.5870, 0.1140], levels / 255, 1) * 255.5)
    mean = np.floor(grey.mean())
    wanted = np.floor(np.clip(mean + factor * (levels - mean), 0, 255) + 1e-4)
    assert np.abs(operations.contrast(PICTURE, factor).numpy() - wanted).max() <= (0 if factor == 1 else 1)
    assert np.abs(operations.contrast(PICTURE, factor).numpy() - wanted).mean() < 0.01


@pytest.mark.parametrize(("size", "level"), [(224, 196), (456, 255), (64, 16)])
def test_the_contrast_bug_turns_about_the_size(size, level):
    picture = torch.full((3, size, size), level, dtype=torch.uint8)
    assert torch.equal(operations.contrast_with_bug(picture, 1.72), picture)
    assert not torch.equal(operations.contrast_with_bug(picture - 5, 1.72), picture - 5)


@pytest.mark.parametrize("change", [operations.autocontrast, operations.equalize])
def test_a_channel_of_one_level_stays(change):
    picture = torch.full((3, 8, 8), 40, dtype=torch.uint8)
    assert torch.equal(change(picture), picture)


def recorded(monkeypatch, settings, count):
    """What `augmented` applied to each of many pictures."""
    applied: list[list[tuple]] = []
    table = {
        name: each._replace(change=lambda p, *given, n=name: applied[-1].append((n, *given)) or p)
        for name, each in OPERATIONS.items()
    }
    monkeypatch.setattr(augmentation, "OPERATIONS", table)
    for seed in range(count):
        applied.append([])
        augmentation.augmented(PICTURE, settings, torch.Generator().manual_seed(seed))
    return applied


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_randaugment_applies_every_drawn_operation_equally_often(monkeypatch, layers):
    applied = recorded(monkeypatch, PictureSettings(augmentation="randaugment", layers=layers, magnitude=17), 1600)
    assert {len(each) for each in applied} == {layers}
    counts = Counter(name for each in applied for name, *_ in each)
    assert all(abs(counts[name] - 100 * layers) < 60 * layers**0.5 for name in OPERATIONS)
    turns = Counter(given[0] for each in applied for name, *given in each if name == "Rotate")
    assert set(turns) == {51, -51}
    assert min(turns.values()) > 0.3 * sum(turns.values())
    if layers > 1:
        assert any(each[0][0] == each[1][0] for each in applied)  # drawn with replacement


def test_randaugment_reads_its_settings_from_the_generator_alone():
    settings = PictureSettings(augmentation="randaugment")
    for seed in range(40):
        twice = [augmentation.augmented(PICTURE, settings, torch.Generator().manual_seed(seed)) for _ in range(2)]
        assert torch.equal(*twice)


def test_the_contrast_bug_is_chosen_by_the_settings(monkeypatch):
    seen = set()
    for bug in (False, True):
        settings = PictureSettings(augmentation="randaugment", layers=1, contrast_bug=bug)
        seeds = [
            seed
            for seed in range(60)
            if int(torch.randint(16, (1,), generator=torch.Generator().manual_seed(seed))) == 7
        ]
        assert augmentation.NAMES[7] == "Contrast"
        picture = augmentation.augmented(PICTURE, settings, torch.Generator().manual_seed(seeds[0]))
        wanted = operations.contrast_with_bug if bug else operations.contrast
        assert torch.equal(picture, wanted(PICTURE, 9 / 10 * 1.8 + 0.1))
        seen.add(picture.numpy().tobytes())
    assert len(seen) == 2


def test_the_policy_v0_is_the_official_one():
    assert [[list(step) for step in policy] for policy in AUTOAUGMENT_V0] == STORED_OPERATIONS["policy_v0"]
    assert len(AUTOAUGMENT_V0) == 25


def test_autoaugment_applies_its_operations_as_often_as_it_says(monkeypatch):
    count = 6000
    applied = recorded(monkeypatch, PictureSettings(augmentation="autoaugment"), count)
    counts = Counter(name for each in applied for name, *_ in each)
    for name in OPERATIONS:
        wanted = count * sum(p for policy in AUTOAUGMENT_V0 for each, p, _ in policy if each == name) / 25
        assert abs(counts[name] - wanted) < 5 * max(wanted, 1) ** 0.5
    shifts = {given[0] for each in applied for name, *given in each if name == "TranslateY"}
    assert shifts == {225, -225}


def test_cutout_is_placed_anywhere():
    picture, cutout = torch.zeros(3, 12, 16, dtype=torch.uint8), OPERATIONS["Cutout"]
    hit = torch.zeros(12, 16)
    for seed in range(600):
        after = augmentation.applied(cutout, picture, 0.25, RANDAUGMENT, torch.Generator().manual_seed(seed))
        assert after.sum() // 128 // 3 in (1, 2, 4)  # two by two, or what is inside of it
        hit += (after[0] > 0).float()
    assert hit[:-1, :-1].min() > 0
