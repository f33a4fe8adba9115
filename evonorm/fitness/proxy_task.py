"""A layer in an anchor, with its pictures: the paper's proxy task ("Multi-architecture evaluation")."""

import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial

import torch
from torch import Tensor, nn

from evonorm.data import CropBatches, Images, load_data, whole_batches
from evonorm.fitness.recipe import FitnessRecipe
from evonorm.foundation import seed_from
from evonorm.graph import Graph
from evonorm.layers import no_weight_decay
from evonorm.models import ANCHORS, create_model
from evonorm.training import Classification, TrainingRun


class ProxyTask(Classification):
    """One layer on one anchor: its training run, validation, and fresh models for the stability test.

    Everything random derives from (seed, anchor): two layers with the same seed see the same pictures in the same
    order and, where their models draw alike, the same first weights.
    """

    def __init__(self, layer: Graph | str, anchor: str, recipe: FitnessRecipe, seed: int) -> None:
        self.layer, self.anchor, self.recipe = layer, ANCHORS[anchor], recipe
        self.data = load_data(recipe.data)
        self.seed = seed_from(seed, zlib.crc32(anchor.encode()))
        model = self.fresh_model()
        super().__init__(
            model,
            self.crops(self.anchor.batch_size),
            no_weight_decay(model),
            partial(self._whole, self.data.validation, recipe.validation_images),
            recipe.moment_batches if recipe.moments == "reestimated" else 0,
        )

    @cached_property
    def run(self) -> TrainingRun:
        """The training that tests and rungs take further, each from where the last one stopped."""
        return TrainingRun(self, self.recipe.training, seed_from(self.seed, 2))

    def fresh_model(self) -> nn.Module:
        """The anchor with the layer, as it is before the first step."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_from(self.seed, 0))
            model = create_model(self.anchor.name, self.layer, num_classes=self.data.classes)
        return model.to(memory_format=torch.channels_last)

    def crops(self, batch_size: int) -> CropBatches:
        """Training batches of this size."""
        return CropBatches(
            self.data.training,
            batch_size,
            self.anchor.crop,
            self.data.mean,
            self.data.std,
            seed_from(self.seed, 1),
            self.recipe.training.workers,
        )

    def validate(self) -> float:
        """Accuracy now on the validation pictures, with the moments that the recipe asks for."""
        return self.measure(self.run.step)[0].value

    def validate_briefly(self, images: int) -> float:
        """Accuracy on so many validation pictures with moments estimated anew: for a model of a few steps."""
        count = min(images, self.recipe.validation_images)
        return self.accuracy(self.run.step, self._whole(self.data.validation, count), self.recipe.moment_batches)

    def test(self) -> float:
        """Accuracy on the test pictures as the paper has it: last weights, moving moments. No search calls this."""
        return self._test(moment_batches=0)

    def test_averaged(self) -> float:
        """The same of the averaged weights, with moments estimated anew for them."""
        assert self.run.average is not None, "the recipe averages no weights"
        with self.run.average.in_their_place():
            return self._test(self.recipe.moment_batches)

    def _test(self, moment_batches: int) -> float:
        return self.accuracy(self.run.step, self._whole(self.data.test, len(self.data.test)), moment_batches)

    def _whole(self, images: Images, count: int) -> Iterator[tuple[Tensor, Tensor]]:
        chosen = replace(images, rows=images.rows[:count])
        return whole_batches(chosen, self.recipe.validation_batch_size, self.data.mean, self.data.std)
