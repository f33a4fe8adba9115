"""What a generator is measured by: FID, KID beside it, and the Inception score of slim's Inception if asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from evonorm.tasks.gan.distances import Gaussian, frechet_distance, gaussian_of, inception_score, kernel_distance
from evonorm.tasks.gan.features import PRECISIONS, FeatureReader, real_features
from evonorm.tasks.gan.inception_files import FID_2015, SLIM
from evonorm.tasks.gan.real_pictures import RealPictures
from evonorm.training import Measure


@dataclass(frozen=True)
class ScoreSettings:
    """How scores are computed; figures under other settings cannot be compared.

    Attributes:
        samples: generated pictures. FID falls by about c / samples, so that the number is part of the measure.
        real: training pictures that they are compared with.
        precision: of Inception; "bfloat16" for curves, "float32" for final numbers.
        inception_score: also the Inception score, which takes the same time again. By slim's Inception v3, so it is
            not the literature's: put the real pictures' value beside it.
    """

    samples: int = 50_000
    real: int = 50_000
    precision: str = "float32"
    inception_score: bool = True

    def __post_init__(self) -> None:
        for name in ("samples", "real"):
            if getattr(self, name) < 2:
                raise ValueError(f"{name} must be at least 2, got {getattr(self, name)}.")
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {self.precision!r}.")

    @property
    def words(self) -> str:
        """What every figure says of itself."""
        return f"{self.samples} v {self.real}, {self.precision}, TF1 resize"


class Scores:
    """The measures of generated pictures against real ones; nothing is read before it is asked."""

    def __init__(self, pictures: RealPictures, settings: ScoreSettings) -> None:
        self.pictures, self.settings = pictures, settings

    @cached_property
    def reader(self) -> FeatureReader:
        return FeatureReader(FID_2015, self.settings.precision)

    @cached_property
    def head(self) -> FeatureReader:
        return FeatureReader(SLIM, self.settings.precision)

    @cached_property
    def real(self) -> Tensor:
        return real_features(self.pictures, "training", self.settings.real, FID_2015, self.settings.precision)

    @cached_property
    def real_gaussian(self) -> Gaussian:
        return gaussian_of(self.real)

    def measures(self, pictures: Sequence[Tensor]) -> tuple[Measure, ...]:
        """Of generated pictures as bytes, in batches."""
        words = self.settings.words
        features = torch.cat([self.reader.read(batch) for batch in pictures])
        found = [
            Measure(f"FID ({words})", frechet_distance(self.real_gaussian, gaussian_of(features)), False),
            Measure(f"KID ({words})", kernel_distance(self.real, features), False),
        ]
        if self.settings.inception_score:
            score, _ = inception_score(torch.cat([self.head.read(batch) for batch in pictures]))
            found.append(Measure(f"IS (slim Inception v3, {self.settings.samples}, {self.settings.precision})", score))
        return tuple(found)
