"""One of a search's nets with any layer, trained for its own sake: the first task of `evonorm train`."""

from dataclasses import dataclass

from evonorm.fitness.proxy_task import ProxyTask
from evonorm.fitness.recipe import FitnessRecipe, QualityRecipe
from evonorm.training import TASKS, TaskEntry, TrainingRecipe


@dataclass(frozen=True)
class AnchorSettings:
    """Which net on which pictures; the defaults are the paper's (appendix "Proxy Task and Anchor Architectures").

    `moment_batches` above 0 measures with moments estimated anew over so many training batches instead of moving ones.
    """

    anchor: str = "resnet50-cifar"
    data: str = "cifar10"
    validation_images: int = 5000
    validation_batch_size: int = 512
    moment_batches: int = 0

    def fitness(self, training: TrainingRecipe) -> FitnessRecipe:
        """The same as a protocol with one net, which also checks every value."""
        return FitnessRecipe(
            data=self.data,
            anchors=(self.anchor,),
            validation_images=self.validation_images,
            validation_batch_size=self.validation_batch_size,
            moments="reestimated" if self.moment_batches else "moving",
            moment_batches=self.moment_batches or 1,
            quality=QualityRecipe(steps=1),
            training=training,
        )


def create_anchor_task(layer: str, settings: AnchorSettings, recipe: TrainingRecipe, seed: int) -> ProxyTask:
    return ProxyTask(layer, settings.anchor, settings.fitness(recipe), seed)


ANCHOR = TASKS.include("anchor", TaskEntry(AnchorSettings, create_anchor_task))
