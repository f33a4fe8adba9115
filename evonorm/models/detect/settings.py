"""What can be chosen about a detector, and the sizes behind each of its names."""

from dataclasses import dataclass, replace
from typing import Literal

from evonorm.models.convolution import scaled_channels

AfterSum = Literal["relu", "silu", "none"]


@dataclass(frozen=True)
class DetectorSettings:
    """How a detector proposes, samples, compares and keeps boxes; the defaults are the paper's code's.

    Attributes:
        after_sum: what follows the sum of a residual block. It has no parameters, so the paper's counts cannot tell
            what its EvoNorm rows had there. ReLU, which BN-ReLU and GN-ReLU have for certain, so that a row of our
            table differs from the next in its layer and in nothing else.
        losses: "tensorflow" as in the paper's code, or "torchvision"; `losses.py` says how they differ.
        anchors: of a picture, sampled for the region proposal network's score loss.
        candidates, candidates_at_test: boxes of each level that enter non-maximum suppression.
        proposals: that leave it.
        regions: of a picture, sampled from the proposals for training; a quarter of them on objects at most.
        detections: kept of a picture.
        least_score: of a detection.
    """

    after_sum: AfterSum = "relu"
    losses: Literal["tensorflow", "torchvision"] = "tensorflow"
    anchors: int = 256
    candidates: int = 2000
    candidates_at_test: int = 1000
    proposals: int = 1000
    regions: int = 512
    detections: int = 100
    least_score: float = 0.05

    def __post_init__(self) -> None:
        if self.after_sum not in ("relu", "silu", "none"):
            raise ValueError(f"after_sum must be 'relu', 'silu' or 'none', got {self.after_sum!r}.")
        if self.losses not in ("tensorflow", "torchvision"):
            raise ValueError(f"losses must be 'tensorflow' or 'torchvision', got {self.losses!r}.")
        for name in ("anchors", "candidates", "candidates_at_test", "proposals", "regions", "detections"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if not 0 <= self.least_score < 1:
            raise ValueError(f"least_score must lie in 0 to 1, got {self.least_score}.")


@dataclass(frozen=True)
class DetectorShape:
    """The sizes of a detector apart from its backbone.

    Attributes:
        levels: of the pyramid, first and last; a map of level l has a stride of 2**l pixels.
        anchor_size: side of a square anchor, in strides of its level.
        channels: of the pyramid and of the convolutions in all heads.
        convs: in the box head and in the mask head.
        dense: width of the box head's dense layer.
        image_size: of the square that pictures are fitted into.
        groups: of moments over (w,h,c/g).
    """

    levels: tuple[int, int]
    anchor_size: float
    channels: int = 256
    convs: int = 4
    dense: int = 1024
    image_size: int = 1024
    groups: int = 32

    @property
    def all_levels(self) -> range:
        return range(self.levels[0], self.levels[1] + 1)

    @property
    def stride(self) -> int:
        """What the sides of a picture must be multiples of."""
        return 1 << self.levels[1]

    def scaled(self, width: float) -> "DetectorShape":
        """Every number of channels multiplied, as in the other models."""
        if width == 1:
            return self
        return replace(self, channels=scaled_channels(self.channels, width), dense=scaled_channels(self.dense, width))
