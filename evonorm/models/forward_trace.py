"""What happens in one forward pass of a model, step by step, found by running it on shapes alone."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from evonorm.models.classify.inverted_residual import InvertedResidual, SqueezeExcite
from evonorm.models.classify.resnet_v2 import Bottleneck
from evonorm.models.create import create_model, find_model
from evonorm.models.detect.residual_blocks import Sum
from evonorm.models.gan.attention import SelfAttention
from evonorm.models.gan.discriminator import DiscriminatorBlock
from evonorm.models.gan.generator import GeneratorBlock


class Position(nn.Module):
    """Stands where a layer would be and remembers what was asked of it."""

    def __init__(self, channels: int, nonlinearity: bool = True) -> None:
        super().__init__()
        self.channels, self.nonlinearity, self.per_sample = channels, nonlinearity, False

    def forward(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        self.per_sample = weight is not None or bias is not None
        return x.clone()  # a tensor of its own: what follows must not look like what came before


@dataclass(frozen=True)
class TraceStep:
    """One operation: what it is, where it sits in the model, what it gives out."""

    kind: str  # "conv", "layer", "max-pool", "resize", "squeeze-excite", "sum", "dense"
    path: str  # of the module, such as blocks.3.reduce
    text: str
    channels: int
    height: int
    width: int
    nonlinearity: bool = True  # of a layer
    behind_conv: bool = False  # whether a layer's input is what a convolution or dense layer gives, so that it may fold
    times: int = 1  # how often for one image: a detector's heads see many regions of it
    additions: int = 0  # of biases and sums, and the comparisons of a max-pool


@dataclass(frozen=True)
class Trace:
    """A model's steps in their order, and the multiply-adds of its convolutions and dense layers for one image."""

    model: str
    image_size: int
    steps: tuple[TraceStep, ...]
    multiply_adds: int

    @property
    def layers(self) -> tuple[TraceStep, ...]:
        return tuple(step for step in self.steps if step.kind == "layer")


def trace_model(name: str, image_size: int | None = None, num_classes: int | None = None, width: float = 1.0) -> Trace:
    """Runs a model on the meta device, with positions in place of layers. Nothing is computed or allocated."""
    image_size = find_model(name).image_size if image_size is None else image_size
    with torch.device("meta"):
        model = create_model(name, Position, num_classes, width).eval()
        inputs = find_model(name).inputs(image_size)
    recorder = Recorder()
    for path, module in model.named_modules():
        module.register_forward_hook(partial(recorder.record, path))
    # what a detector computes depends on what it sees, so it says itself what that is at most
    run = getattr(model, "on_shapes", model)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        run(*inputs)
    return Trace(name, image_size, tuple(recorder.steps), counter.get_total_flops() // 2)


UNTOLD = (".squeeze", ".excite", ".gain", ".shift")  # parts of something that has a word of its own


class Recorder:
    """Turns the modules that ran into steps."""

    def __init__(self) -> None:
        self.steps: list[TraceStep] = []
        self.linear_outputs: list[Tensor] = []  # kept, so that no other tensor gets the same identity

    def record(self, path: str, module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        for kind, describe in DESCRIPTIONS.items():
            if isinstance(module, kind) and not path.endswith(UNTOLD):
                name, text = describe(module)
                if isinstance(module, nn.Linear) and self.is_pooled(module.in_features):
                    text = f"pool {text}"
                if name and not (name == "resize" and self.steps[-1].kind == name):  # the shortcut's comes along
                    self.steps.append(self.step(name, path, text, module, inputs, output))
        if isinstance(module, LINEAR):
            self.linear_outputs.append(output)

    def is_pooled(self, features: int) -> bool:
        """Whether what reaches a dense layer are means of the latest map and not all of its pixels."""
        if not self.steps:
            return False
        latest = self.steps[-1]
        return features == latest.channels and latest.height * latest.width > 1

    def step(
        self, kind: str, path: str, text: str, module: nn.Module, inputs: tuple[Any, ...], output: Tensor
    ) -> TraceStep:
        height, width = output.shape[2:] if output.ndim == 4 else (1, 1)
        return TraceStep(
            kind,
            path,
            text,
            output.shape[1],
            height,
            width,
            nonlinearity=not isinstance(module, Position) or module.nonlinearity,
            behind_conv=any(inputs[0] is each for each in self.linear_outputs)
            and not getattr(module, "per_sample", False),
            times=len(output),
            additions=output.numel() * additions_of(module, len(inputs)),
        )


def additions_of(module: nn.Module, inputs: int) -> int:
    """For each element that it gives out, beside multiply-adds."""
    if isinstance(module, LINEAR):
        return int(module.bias is not None)
    if isinstance(module, nn.MaxPool2d):
        assert isinstance(module.kernel_size, int)
        return module.kernel_size**2
    if isinstance(module, Sum):
        return inputs - 1
    return int(isinstance(module, (Bottleneck, InvertedResidual)))


def describe_conv(conv: nn.Conv2d | nn.ConvTranspose2d) -> tuple[str, str]:
    kernel = "x".join(map(str, conv.kernel_size))
    stride = f"{'*' if conv.transposed else '/'}{conv.stride[0]}" if conv.stride[0] > 1 else ""
    if conv.groups > 1:
        return "conv", f"dw{kernel}{stride}"
    return "conv", f"{kernel}{stride}>{conv.out_channels}"


def describe_position(position: Position) -> tuple[str, str]:
    return "layer", f"[{position.channels}]" if position.nonlinearity else f"({position.channels})"


def describe_block(block: InvertedResidual) -> tuple[str, str]:
    return ("sum", "+") if block.drop is not None else ("", "")


LINEAR = (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)
DESCRIPTIONS: dict[type[nn.Module], Callable[[Any], tuple[str, str]]] = {
    nn.Conv2d: describe_conv,
    nn.ConvTranspose2d: describe_conv,
    Position: describe_position,
    nn.MaxPool2d: lambda pool: ("max-pool", f"max-pool{pool.kernel_size}x{pool.kernel_size}/{pool.stride}"),
    SqueezeExcite: lambda module: ("squeeze-excite", f"SE{module.squeeze.out_channels}"),
    Bottleneck: lambda _: ("sum", "+"),
    Sum: lambda each: ("sum", "+" if each.after_sum == "none" else f"+ {each.after_sum}"),
    InvertedResidual: describe_block,
    GeneratorBlock: lambda _: ("sum", "+"),
    DiscriminatorBlock: lambda _: ("sum", "+"),
    SelfAttention: lambda _: ("sum", "attention +"),
    nn.Upsample: lambda _: ("resize", "up"),
    nn.AvgPool2d: lambda _: ("resize", "down"),
    nn.Linear: lambda dense: ("dense", f"dense>{dense.out_features}"),
}
