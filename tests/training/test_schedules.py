"""Rates as the official code gives them: a step is looked up by hand in the published tables (ImageNet, 1,281,167)."""

import math

import pytest

from evonorm.training import EpochSize, TrainingRecipe

IMAGENET = 1_281_167
RESNET = TrainingRecipe(
    epochs=90, workers=8, schedule="steps", boundaries=(30, 60, 80), warmup=5, learning_rate=0.1, rate_images=256
)
COSINE = TrainingRecipe(epochs=180, workers=8, schedule="cosine", warmup=10, learning_rate=0.1, rate_images=256)
STAIRCASE = TrainingRecipe(
    epochs=350, workers=32, schedule="exponential", factor=0.97, period=2.4, warmup=5, learning_rate=0.016,
    rate_images=256, optimizer="rmsprop",
)  # fmt: skip
MOBILE = TrainingRecipe(epochs=350, workers=32, schedule="cosine", warmup=5, learning_rate=0.1, rate_images=256)
# The step at which epoch e begins is the first one that is not below e * 1281167 / batch.
RATES = {
    "resnet": (RESNET, 128, {
        0: 0.0, 1: 0.4 / 6255.7, 3127: 0.4 * 3127 / 6255.70, 6255: 0.4 * 6255 / 6255.70, 6256: 0.4, 37534: 0.4,
        37535: 0.04, 75068: 0.04, 75069: 0.004, 100091: 0.004, 100092: 0.0004, 112601: 0.0004,
    }),
    "resnet, 4 images": (RESNET, 4, {
        0: 0.0, 200182: 0.0125 * 200182 / 200182.34, 200183: 0.0125, 1201094: 0.0125, 1201095: 0.00125,
        2402188: 0.00125, 2402189: 0.000125, 3202917: 0.000125, 3202918: 1.25e-5, 3603281: 1.25e-5,
    }),
    "resnet, cosine": (COSINE, 128, {
        0: 0.0, 6255: 0.2, 12511: 0.4 * 12511 / 12511.4, 12512: 0.2 * (1 + math.cos(math.pi * 12512 / 225205)),
        56301: 0.2 * (1 + math.sqrt(0.5)), 112602: 0.2, 112603: 0.2, 168904: 0.2 * (1 - math.sqrt(0.5)),
        225204: 0.0, 225205: 0.0,
    }),
    "efficientnet-b0": (STAIRCASE, 128, {
        0: 0.0, 782: 0.128, 1563: 0.256 * 1563 / 1563.9, 1564: 0.256 * 0.97**2, 2252: 0.256 * 0.97**2,
        2253: 0.256 * 0.97**3, 3002: 0.256 * 0.97**3, 3003: 0.256 * 0.97**4, 75069: 0.256 * 0.97**100,
        109473: 0.256 * 0.97**145,
    }),
    "mobilenetv2": (MOBILE, 128, {
        0: 0.0, 782: 0.8, 1563: 1.6 * 1563 / 1563.9, 1564: 0.8 * (1 + math.cos(math.pi * 1564 / 109474)),
        27368: 0.8 * (1 + math.sqrt(0.5)), 36491: 1.2, 54737: 0.8, 72983: 0.4, 82106: 0.8 * (1 - math.sqrt(0.5)),
        109473: 0.0,
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", RATES)
def test_the_rates_of_the_official_code_at_ten_steps_and_more(name):
    recipe, images, rates = RATES[name]
    resolved = recipe.in_steps(EpochSize(IMAGENET, images))
    assert len(rates) >= 10
    for step, rate in rates.items():
        assert resolved.learning_rate_at(step) == pytest.approx(rate, rel=2e-4, abs=1e-7), step


def test_lengths_and_rates_scale_with_what_a_step_has():
    lengths = {(350, 32, 64): 218_949, (350, 8, 128): 437_898, (90, 8, 128): 112_602, (90, 8, 4): 3_603_282}
    for (epochs, workers, images), steps in lengths.items():
        recipe = TrainingRecipe(epochs=epochs, workers=workers, learning_rate=0.1, rate_images=256)
        resolved = recipe.in_steps(EpochSize(IMAGENET, images))
        assert resolved.steps == steps
        assert resolved.learning_rate == pytest.approx(0.1 * workers * images / 256)
        assert resolved.in_steps(EpochSize(IMAGENET, images)) == resolved


def test_without_epochs_everything_is_in_steps():
    recipe = TrainingRecipe(steps=10, schedule="steps", boundaries=(4, 8), factor=0.5, warmup=2, learning_rate=1.0)
    recipe = recipe.in_steps(EpochSize(samples=7, images_per_worker=3))
    assert [recipe.learning_rate_at(step) for step in range(10)] == [0, 0.5, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25]


def test_a_warm_up_may_begin_above_zero():
    recipe = TrainingRecipe(steps=10, warmup=4, warmup_from=0.2, learning_rate=0.5)
    assert [recipe.learning_rate_at(step) for step in range(6)] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.5])


def test_a_curve_has_a_point_after_every_epoch_and_at_the_end():
    recipe = TrainingRecipe(epochs=3, validate_every=1).in_steps(EpochSize(samples=70, images_per_worker=20))
    assert recipe.steps == 10
    assert [step for step in range(1, 11) if recipe.validates_at(step)] == [4, 7, 10]
    never = TrainingRecipe(steps=10, validate_every=0)
    assert [step for step in range(1, 11) if never.validates_at(step)] == [10]


@pytest.mark.parametrize("setting", [
    {"epochs": 0.0}, {"rate_images": 0}, {"warmup": -1.0}, {"factor": 0.0}, {"period": 0.0}, {"clip": -1.0},
    {"schedule": "steps", "boundaries": (3, 2)}, {"epsilon": 0.0}, {"decay": 1.0}, {"warmup_from": 1.5},
])  # fmt: skip
def test_impossible_values_are_named(setting):
    with pytest.raises(ValueError, match=list(setting)[-1]):
        TrainingRecipe(**setting)
