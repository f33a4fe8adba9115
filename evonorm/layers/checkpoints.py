"""Checkpoints of other people's layers: timm's EvoNorms load, a BatchNorm's is told apart."""

import warnings
from collections.abc import MutableMapping
from typing import Any

TIMMS_EPS = {"evonorm-b0": 1e-3}  # where timm leaves the paper's 1e-5


def read_other_checkpoints(module: Any, state: MutableMapping[str, Any], prefix: str, *_: object) -> None:
    """A hook before a layer loads: renames timm's `v`, and warns of what would be taken without a word."""
    if f"{prefix}v" in state and module.v1 is not None:
        state[f"{prefix}v1"] = state.pop(f"{prefix}v")
        eps = TIMMS_EPS.get(getattr(module, "name", ""), module.eps)
        if eps != module.eps:
            _warn(prefix, f"a checkpoint of timm's, whose {module.name} has eps={eps:g}; this layer has {module.eps:g}")
    batch_norm = f"{prefix}running_mean" in state and f"{prefix}weight" in state
    if batch_norm and "running_mean" not in module.moving_names and module.nonlinearity:
        _warn(
            prefix,
            "a BatchNorm's checkpoint: its gamma and beta mean something else to this layer, and are a worse start than"
            " fresh ones. Load it into the model as it was, then call evonorm.convert",
        )


def _warn(prefix: str, what: str) -> None:
    warnings.warn(f"the state for {prefix.rstrip('.') or 'this layer'} is {what}.", stacklevel=2)
