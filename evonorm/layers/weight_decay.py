"""Which parameters an optimizer should not decay."""

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from evonorm.layers.conventions import Layer

_LAYERS = (Layer, _BatchNorm, nn.GroupNorm, nn.LayerNorm)


def no_weight_decay(model: nn.Module) -> set[str]:
    """Names of gamma, beta, v0 and v1 of every normalization layer in the model: ours, exported ones and torch's.

    Leave them out of weight decay: decaying v1 to 0 makes EvoNorm-S0 a linear layer. The names are those of
    `model.named_parameters()`.

    Example:
        model = evonorm.create_model("resnet-nano", layer="evonorm-s0")
        skip = evonorm.no_weight_decay(model)
        groups = [
            {"params": [p for n, p in model.named_parameters() if n not in skip], "weight_decay": 1e-4},
            {"params": [p for n, p in model.named_parameters() if n in skip], "weight_decay": 0.0},
        ]
    """
    return {
        f"{path}.{name}" if path else name
        for path, module in model.named_modules()
        if isinstance(module, _LAYERS) or hasattr(type(module), "evonorm_formula")  # the latter: `evonorm export`
        for name, _ in module.named_parameters(recurse=False)
    }
