"""A layer in an anchor, with its pictures: the paper's proxy task ("Multi-architecture evaluation")."""

import zlib
from dataclasses import replace

import torch
from torch import nn

from evonorm.data import CropBatches, Images, load_data, whole_batches
from evonorm.fitness.recipe import FitnessRecipe
from evonorm.foundation import seed_from
from evonorm.graph import Graph
from evonorm.layers import no_weight_decay
from evonorm.models import ANCHORS, create_model
from evonorm.training import TrainingRun, accuracy, reestimated_moments


class ProxyTask:
    """One layer on one anchor: its training run, validation, and fresh models for the stability test.

    Everything random derives from (seed, anchor): two layers with the same seed see the same pictures in the same
    order and, where their models draw alike, the same first weights.
    """

    def __init__(self, layer: Graph | str, anchor: str, recipe: FitnessRecipe, seed: int) -> None:
        self.layer, self.anchor, self.recipe = layer, ANCHORS[anchor], recipe
        self.data = load_data(recipe.data)
        self.seed = seed_from(seed, zlib.crc32(anchor.encode()))
        self.run: TrainingRun = self._fresh_run()

    def fresh_model(self) -> nn.Module:
        """The anchor with the layer, as it is before the first step."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_from(self.seed, 0))
            model = create_model(self.anchor.name, self.layer, num_classes=self.data.classes)
        return model.to(memory_format=torch.channels_last)

    def batches(self, batch_size: int) -> CropBatches:
        return CropBatches(
            self.data.training,
            batch_size,
            self.anchor.crop,
            self.data.mean,
            self.data.std,
            seed_from(self.seed, 1),
        )

    def validate(self, model: nn.Module) -> float:
        """Accuracy on the validation pictures, with the moments that the recipe asks for."""
        if self.recipe.moments == "moving":
            return self._accuracy(model, self.data.validation, self.recipe.validation_images)
        coming = (self.run.batches.batch(self.run.step + i)[0] for i in range(self.recipe.moment_batches))
        with reestimated_moments(model, coming):
            return self._accuracy(model, self.data.validation, self.recipe.validation_images)

    def test(self, model: nn.Module) -> float:
        """Accuracy on the test pictures; no search calls this."""
        return self._accuracy(model, self.data.test, len(self.data.test))

    def _accuracy(self, model: nn.Module, images: Images, count: int) -> float:
        chosen = replace(images, rows=images.rows[:count])
        batches = whole_batches(chosen, self.recipe.validation_batch_size, self.data.mean, self.data.std)
        return accuracy(model, batches)

    def _fresh_run(self) -> TrainingRun:
        model = self.fresh_model()
        return TrainingRun(
            model,
            self.batches(self.anchor.batch_size),
            self.recipe.training,
            no_weight_decay(model),
            seed_from(self.seed, 2),
        )
