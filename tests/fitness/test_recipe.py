from pathlib import Path

import pytest

from evonorm.fitness import FitnessRecipe
from evonorm.runner.evaluate_layer import read_fitness_recipe
from evonorm.training import TrainingRecipe

RECIPES = Path(__file__).parents[2] / "recipes"


def test_the_papers_recipes_are_the_papers():
    b, s = (read_fitness_recipe(RECIPES / f"paper_{series}.toml") for series in "bs")
    assert b == FitnessRecipe()
    assert s == FitnessRecipe(training=TrainingRecipe(steps=5000, schedule="cosine"))
    assert b.anchors == ("resnet50-cifar", "mobilenetv2-cifar", "efficientnet-b0-cifar")
    training = (b.training.steps, b.training.schedule, b.training.learning_rate, b.training.momentum)
    assert training == (2000, "constant", 0.1, 0.9)
    assert b.training.weight_decay == 1e-4
    assert (b.quality.steps, b.quality.accuracy) == (100, 0.2)
    assert (b.stability.steps, b.stability.gradient_norm) == (100, 1e8)
    assert (b.validation_images, b.validation_batch_size, b.moments) == (5000, 512, "moving")


@pytest.mark.parametrize("name", ["laptop", "smoke"])
def test_the_small_recipes_are_valid(name):
    anchors = read_fitness_recipe(RECIPES / f"{name}.toml").anchors
    assert all(anchor.endswith(("-nano", "-thin")) for anchor in anchors)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[fitness]\nthread = 1", r"recipe\.toml \[fitness\]: unknown key 'thread'. Did you mean 'threads'"),
        ("[fitness.quality]\nacuracy = 0.2", "quality: unknown key 'acuracy'. Did you mean 'accuracy'"),
        ("[fitness]\nanchors = ['resnet-nana']", "there is no anchor 'resnet-nana'. Known: resnet50-cifar"),
        ("[fitness]\nanchors = []", "anchors must be a list of different names"),
        ("[fitness]\ndata = 'cifar'", "data must be one of cifar10, digits, got 'cifar'"),
        ("[fitness]\nthreads = 0", "threads must be at least 1, got 0"),
        ("[fitness]\nmoments = 'batch'", "moments must be one of 'moving', 'reestimated'"),
        ("[fitness.quality]\naccuracy = 20.0", "accuracy must lie in 0 to 1, got 20.0"),
        ("[fitness.stability]\nbatch_size = 1", "batch_size must be at least 2"),
        ("[fitness.stability]\nstep_size = 0.0", "must be positive"),
        ("[fitness.training]\nsteps = 50", r"quality.steps \(100\) are the first of training.steps \(50\)"),
        ("[fitness\n", "is not a TOML file"),
    ],
)
def test_a_mistake_in_a_recipe_is_told_before_any_training(text, message, tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_fitness_recipe(path)


def test_a_missing_recipe_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"there is no recipe .*nothing\.toml"):
        read_fitness_recipe(tmp_path / "nothing.toml")
