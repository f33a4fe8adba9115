"""A layer in the generator of a GAN, as the paper trains BigGAN-deep ("Generalization to GAN Training")."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from evonorm.foundation import seed_from
from evonorm.models import find_model, singular_values
from evonorm.tasks.gan.latents import Latents, draw_latents, one_of_each
from evonorm.tasks.gan.losses import frozen, hinge_losses, moments_at_rest, orthogonal_penalty
from evonorm.tasks.gan.real_pictures import RealPictures, open_pictures
from evonorm.tasks.gan.sampling import (
    GeneratorOrigin,
    build,
    pictures_of,
    standing_latents,
    standing_statistics,
    store_generator,
)
from evonorm.tasks.gan.scores import Scores, ScoreSettings
from evonorm.tasks.gan.sheet import sheet_png
from evonorm.training import TASKS, Losses, Measure, TaskEntry, TrainingRecipe, Turn, rank

NETS = ("generator", "discriminator")
COLUMNS = 8  # of a sheet
MOST_ROWS = 10
WEIGHTS, REAL, FAKE, STANDING, SHEET, SAMPLES = range(6)  # random streams of a training

Game = tuple[Latents, tuple[Tensor, Tensor] | None]  # latents, and real pictures with labels in a discriminator's turn


@dataclass(frozen=True)
class GanSettings:
    """Which GAN on which pictures; the defaults are BigGAN-deep's at 128 pixels (Brock et al. 2019).

    Attributes:
        model, width, groups: as in `create_model`.
        data: a data set by name, or a folder in ImageNet's layout, of whose photos the centres are taken.
        images_per_worker: of each logical worker and turn; 8 workers make the batch of 2048.
        flips: whether real pictures are mirrored at random.
        discriminator_turns: in a step, before the generator's.
        generator_rate: share of the recipe's rate, which is the discriminator's.
        orthogonal: weight of the generator's orthogonal regularization.
        standing_batches: over which moments are averaged before anything is measured.
        scores: how it is measured.
        loaders: processes that decode photos, 0 for none; no figure depends on it.
        keep: a folder for the generator as of the latest measure; empty for none.
    """

    model: str = "biggan-deep-128"
    width: float = 1.0
    groups: int | None = None
    data: str = "cifar10"
    images_per_worker: int = 256
    flips: bool = True
    discriminator_turns: int = 2
    generator_rate: float = 0.25
    orthogonal: float = 1e-4
    standing_batches: int = 100
    scores: ScoreSettings = field(default_factory=ScoreSettings)
    loaders: int = 0
    keep: str = ""

    def __post_init__(self) -> None:
        for name in ("images_per_worker", "discriminator_turns", "standing_batches"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.loaders < 0:
            raise ValueError(f"loaders must not be negative, got {self.loaders}.")
        if not self.generator_rate > 0:
            raise ValueError(f"generator_rate must be positive, got {self.generator_rate}.")
        if not self.orthogonal >= 0:
            raise ValueError(f"orthogonal must not be negative, got {self.orthogonal}.")

    @property
    def pictures(self) -> RealPictures:
        """The real pictures that these settings are about; raises where they cannot be had."""
        return open_pictures(self.data, find_model(self.model).image_size)


class GanTask:
    """Generator and discriminator in turn; everything random derives from (seed, step, worker, turn)."""

    def __init__(self, layer: str, settings: GanSettings, recipe: TrainingRecipe, seed: int) -> None:
        if recipe.worker_moments != "first":
            raise ValueError('a GAN keeps the vectors of spectral norm of its first worker: worker_moments = "first".')
        self.layer, self.settings, self.seed = layer, settings, seed
        self.real = settings.pictures
        self.classes = self.real.classes
        self.scores = Scores(self.real, settings.scores)
        self.shown_at, self.sheet = -1, b""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_from(seed, WEIGHTS))
            nets = build(self.origin(0))
        self.model: nn.Module = nets
        self.generator, self.discriminator = nets.generator, nets.discriminator
        size, flips = settings.images_per_worker, settings.flips
        self.real_batches = self.real.batches(size, flips, seed_from(seed, REAL), recipe.workers, settings.loaders)
        turns = settings.discriminator_turns
        self.turns: tuple[Turn, ...] = (
            *(Turn("discriminator", self.discriminator, self.discriminator_losses, averaged=False),) * turns,
            Turn("generator", self.generator, self.generator_losses, rate=settings.generator_rate),
        )

    def origin(self, step: int) -> GeneratorOrigin:
        chosen = self.settings
        return GeneratorOrigin(chosen.model, self.layer, chosen.width, chosen.groups, self.classes, self.seed, step)

    def batch(self, step: int, worker: int, turn: int) -> Game:
        count = self.settings.images_per_worker
        latents = draw_latents(count, self.classes, seed_from(self.seed, FAKE, step, worker, turn))
        turns = self.settings.discriminator_turns
        return latents, self.real_batches.batch(step * turns + turn, worker) if turn < turns else None

    def discriminator_losses(self, game: Game) -> Losses:
        (z, labels), real = game
        assert real is not None
        with torch.no_grad(), moments_at_rest(self.generator):
            fake = self.generator(z, labels)
        both = torch.cat([real[0], fake]), torch.cat([real[1], labels])  # one pass: it has no moments over the batch
        return hinge_losses(*self.discriminator(*both).split(len(fake)))

    def generator_losses(self, game: Game) -> Losses:
        z, labels = game[0]
        with frozen(self.discriminator):
            losses = {"generator": -self.discriminator(self.generator(z, labels), labels).mean()}
        if self.settings.orthogonal:
            losses["orthogonal"] = self.settings.orthogonal * orthogonal_penalty(self.generator)
        return losses

    def measure(self, step: int) -> tuple[Measure, ...]:
        chosen, classes = self.settings, self.classes
        size = chosen.images_per_worker
        standing = standing_latents(chosen.standing_batches, size, classes, seed_from(self.seed, STANDING))
        latents = draw_latents(chosen.scores.samples, classes, seed_from(self.seed, SAMPLES))
        with standing_statistics(self.generator, standing):
            self._show(step)
            found = self.scores.measures(pictures_of(self.generator, latents, size))
            return (*found, *self._health(step))

    @torch.no_grad()
    def _health(self, step: int) -> tuple[Measure, ...]:
        """What shows that a GAN collapses: how its discriminator tells pictures apart, how large weights have grown."""
        (z, labels), real = self.batch(step, 0, 0)
        assert real is not None
        on_real, on_fake = (
            self.discriminator(*real).mean(),
            self.discriminator(self.generator(z, labels), labels).mean(),
        )
        largest = {net: max(singular_values(self.model.get_submodule(net)).values()) for net in NETS}
        return (
            Measure("discriminator on real pictures", float(on_real)),
            Measure("discriminator on generated pictures", float(on_fake)),
            *(Measure(f"largest singular value of the {net}", value, False) for net, value in largest.items()),
        )

    def _show(self, step: int) -> None:
        """Draws a sheet of samples and stores the generator, once a step: averaged weights come first and decide."""
        if rank() != 0 or self.shown_at == step:
            return
        latents = one_of_each(COLUMNS, min(self.classes, MOST_ROWS), seed_from(self.seed, SHEET))
        pictures = torch.cat(pictures_of(self.generator, latents, self.settings.images_per_worker))
        self.shown_at, self.sheet = step, sheet_png(pictures, COLUMNS)
        if self.settings.keep:
            origin = self.origin(step)
            store_generator(self.generator, origin, Path(self.settings.keep) / f"{origin.name}.pt")

    def illustrations(self) -> dict[str, bytes]:
        """The samples of the latest measure, a class a row; the same latent vectors every time."""
        return {"samples": self.sheet} if self.sheet else {}


def gan_identity(settings: GanSettings) -> dict[str, Any]:
    """Where samples are kept decides no figure, and of photos only which they are."""
    apart = {"keep": None, "loaders": None}
    digest = settings.pictures.photos
    return apart if digest is None else {**apart, "data": None, "photos": digest}


GAN = TASKS.include("gan", TaskEntry(GanSettings, GanTask, identity=gan_identity))
