"""Pictures from a trained generator: standing statistics, and the file in which it is kept with what made it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from evonorm.foundation import seed_from, write_atomically
from evonorm.models import BigGANDeep, Generator, create_model
from evonorm.tasks.gan.features import as_bytes
from evonorm.tasks.gan.latents import Latents, draw_latents
from evonorm.training import read_tensors, reestimated_moments

VERSION = 1


@dataclass(frozen=True)
class GeneratorOrigin:
    """What a generator was made and trained with."""

    model: str
    layer: str
    width: float
    groups: int | None
    classes: int
    seed: int
    step: int

    @property
    def name(self) -> str:
        """For files: formulas become what a file system likes."""
        layer = "".join(letter if letter.isalnum() else "-" for letter in self.layer)[:60]
        return f"{self.model}-{layer}-seed{self.seed}"


def build(origin: GeneratorOrigin) -> BigGANDeep:
    """The pair of nets; weights come from torch's generator."""
    found = create_model(origin.model, origin.layer, origin.classes, origin.width, origin.groups)
    if not isinstance(found, BigGANDeep):
        raise ValueError(f"{origin.model} is no GAN. Name one of biggan-deep-cifar, -128, -256 and -512.")  # noqa: TRY004
    return found


@contextmanager
def standing_statistics(generator: Generator, batches: Iterable[Latents]) -> Iterator[None]:
    """Inside, the generator is in evaluation, its moving moments the plain average over these batches of latents.

    Layers without moments over the batch need none, and nothing is computed for them.
    """
    moving = any(name.rpartition(".")[2].startswith("running_") for name, _ in generator.named_buffers())
    with reestimated_moments(generator, batches) if moving else nullcontext():
        generator.eval()
        yield


def standing_latents(batches: int, size: int, classes: int, seed: int, *truncation: float) -> Iterator[Latents]:
    return (draw_latents(size, classes, seed_from(seed, number), *truncation) for number in range(batches))


@torch.no_grad()
def pictures_of(generator: Generator, latents: Latents, batch: int) -> list[Tensor]:
    """Pictures as bytes, in batches."""
    device = generator.stem.weight.device
    parts = zip(*(each.to(device).split(batch) for each in latents), strict=True)
    return [as_bytes(generator(z, labels)) for z, labels in parts]


def store_generator(generator: Generator, origin: GeneratorOrigin, path: Path) -> None:
    content = {"version": VERSION, "origin": asdict(origin), "weights": generator.state_dict()}
    write_atomically(path, lambda file: torch.save(content, file))


def load_generator(path: Path) -> tuple[Generator, GeneratorOrigin]:
    """The generator in evaluation, as it was stored."""
    content = read_tensors(path, "cpu", "Train it again.")
    if not isinstance(content, dict) or content.get("version") != VERSION or "origin" not in content:
        raise ValueError(f"{path} holds no generator of evonorm. A training of the task gan writes one where it keeps.")
    origin = GeneratorOrigin(**content["origin"])
    generator = build(origin).generator
    generator.load_state_dict(content["weights"])
    return generator.eval(), origin
