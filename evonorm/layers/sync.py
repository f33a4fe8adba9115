"""Moments over the batches of all ranks of a training with DistributedDataParallel."""

from typing import TYPE_CHECKING

from torch import nn

from evonorm.kernels import SyncedMoments
from evonorm.layers.baselines import BatchNormAct
from evonorm.layers.norm_act import NormAct

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


def sync_moments(model: nn.Module, group: "ProcessGroup | None" = None) -> nn.Module:
    """Makes layers take their moments over the batch from the batches of all ranks, as `SyncBatchNorm` does.

    Values, gradients and moving moments then are those of one process with the whole batch, on CPUs and GPUs, also
    where ranks have batches of different sizes or none at all. It is for B layers, graphs with a moment over the
    batch, `bn-relu` and `bn-silu`; layers without such moments need no syncing, and torch's own BatchNorm is left to
    `SyncBatchNorm.convert_sync_batchnorm`. Every rank must run the same layers in the same order.

    The rule: where a training forward runs in a process group of several ranks, moments are of all of them; anywhere
    else (no process group, one rank, evaluation) the layer is the plain one.

    Arguments:
        model: changed in place, and returned. Before or after it is wrapped in DistributedDataParallel.
        group: the ranks; None is all of them.

    Example:
        model = evonorm.sync_moments(evonorm.create_model("resnet-nano", layer="evonorm-b0"))
        # in every process of torchrun: model = DistributedDataParallel(model)
    """
    for layer in model.modules():
        if isinstance(layer, NormAct | BatchNormAct) and layer.track_running_stats:
            layer.synced = SyncedMoments(group)
    return model
