"""`sync_moments`: ranks that share a batch are one process with the whole batch."""

import copy
import pickle

import pytest
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

import evonorm
from evonorm.kernels import THIS_BATCH, SyncedMoments, kernel_for
from tests.two_ranks import on_ranks

SEVERAL = "x * sigmoid(v1 * x) / (std_bwh(x + std_wh(x)) + rms_bwh(tanh(x)))"
LAYERS = ("evonorm-b0", "evonorm-b1", "evonorm-s0", "bn-relu", "bn-silu", SEVERAL)
SPLITS = {"even": (4, 4), "uneven": (5, 3), "one is empty": (8, 0)}
TOLERANCES = {torch.float64: 1e-10, torch.float32: 3e-5}


class Net(nn.Module):
    """Two convolutions with a layer each, the second perhaps checkpointed."""

    def __init__(self, layer, dtype, checkpointed=False):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Conv2d(3, 8, 3, dtype=dtype)
        self.one = evonorm.create_layer(layer, 8, dtype=dtype)
        self.second = nn.Conv2d(8, 4, 2, dtype=dtype)
        self.two = evonorm.create_layer(layer, 4, dtype=dtype)
        self.checkpointed = checkpointed

    def forward(self, x):
        def last(z):
            return self.two(self.second(z))

        z = self.one(self.first(x))
        return checkpoint(last, z, use_reentrant=False) if self.checkpointed else last(z)


def pictures(dtype):
    draw = torch.Generator().manual_seed(1)
    scales = torch.linspace(0.5, 3, 8, dtype=torch.float64).view(-1, 1, 1, 1)  # so that ranks differ
    return (torch.randn(8, 3, 7, 7, generator=draw, dtype=torch.float64) * scales).to(dtype)


def train(net, x, steps=2):
    """Every loss's share, gradients and buffers after a few steps; a loss is a sum, so that pictures count alike."""
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    ranks = distributed.get_world_size() if isinstance(net, DistributedDataParallel) else 1
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = net(x).square().sum() / 100
        (loss * ranks).backward()  # DDP takes the mean over ranks
        optimizer.step()
        losses.append(loss.detach())
    inner = net.module if isinstance(net, DistributedDataParallel) else net
    gradients = {name: parameter.grad for name, parameter in inner.named_parameters()}
    return losses, gradients, {name: each.clone() for name, each in inner.named_buffers()}


def work(rank, folder):
    found = {}
    for layer in LAYERS:
        for dtype in TOLERANCES:
            for name, split in SPLITS.items():
                mine = pictures(dtype)[sum(split[:rank]) : sum(split[: rank + 1])]
                net = evonorm.sync_moments(Net(layer, dtype))
                found[layer, dtype, name] = train(DistributedDataParallel(net, broadcast_buffers=False), mine)
    x = pictures(torch.float64)[4 * rank : 4 * rank + 4]
    wrapped = DistributedDataParallel(Net("evonorm-b0", torch.float64, checkpointed=True), broadcast_buffers=False)
    found["checkpointed"] = train(evonorm.sync_moments(wrapped), x)
    copied = copy.deepcopy(evonorm.sync_moments(Net("evonorm-b0", torch.float64), distributed.new_group([0, 1])))
    found["copied"] = train(DistributedDataParallel(copied, broadcast_buffers=False), x)
    found["evaluated"] = copied.eval()(pictures(torch.float64))
    alone = evonorm.sync_moments(Net("evonorm-b0", torch.float64), distributed.new_group([1]))
    found["others"] = alone.one.training_moments() is THIS_BATCH
    try:
        evonorm.sync_moments(evonorm.create_layer("bn-relu", 2))(torch.randn(1 - rank, 2))
    except ValueError as error:
        found["one value"] = str(error)
    torch.save(found, f"{folder}/{rank}.pt")


@pytest.fixture(scope="module")
def of_the_ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    on_ranks(2, work, str(folder))
    return [torch.load(folder / f"{rank}.pt") for rank in range(2)]


def assert_same(found, expected, tolerance, what):
    assert (found - expected).abs().max() <= tolerance * (1 + expected.abs().max()), what


def assert_one_process(ranks, whole, tolerance):
    losses, gradients, buffers = whole
    for one, other, loss in zip(ranks[0][0], ranks[1][0], losses, strict=True):
        assert_same(one + other, loss, tolerance, "loss")
    for _, gradients_of_rank, buffers_of_rank in ranks:
        for name, expected in gradients.items():
            assert_same(gradients_of_rank[name], expected, tolerance, name)
        for name, expected in buffers.items():
            assert_same(buffers_of_rank[name], expected, tolerance, name)
            assert torch.equal(buffers_of_rank[name], ranks[0][2][name])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("layer", LAYERS)
def test_ddp_is_one_process_with_the_whole_batch(of_the_ranks, layer, dtype):
    whole = train(Net(layer, dtype), pictures(dtype))
    for split in SPLITS:
        assert_one_process([each[layer, dtype, split] for each in of_the_ranks], whole, TOLERANCES[dtype])


@pytest.mark.slow
def test_copies_checkpoints_groups_and_evaluation(of_the_ranks):
    whole = Net("evonorm-b0", torch.float64)
    results = train(whole, pictures(torch.float64))
    assert_one_process([each["copied"] for each in of_the_ranks], results, 1e-10)
    again = train(Net("evonorm-b0", torch.float64, checkpointed=True), pictures(torch.float64))
    assert_one_process([each["checkpointed"] for each in of_the_ranks], again, 1e-10)
    evaluated = whole.eval()(pictures(torch.float64))
    for rank in of_the_ranks:
        assert_same(rank["evaluated"], evaluated, 1e-10, "evaluated")
        assert rank["others"]  # outside the group, or alone in it: the plain layer
        assert "more than 1 value per channel" in rank["one value"]


def test_without_other_ranks_it_is_the_plain_layer(tmp_path):
    for name in LAYERS:
        plain, synced = Net(name, torch.float32), evonorm.sync_moments(Net(name, torch.float32))
        for a, b in zip(train(plain, pictures(torch.float32)), train(synced, pictures(torch.float32)), strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0)
    distributed.init_process_group("gloo", f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        assert synced.one.training_moments() is THIS_BATCH
    finally:
        distributed.destroy_process_group()


def test_which_layers_it_is_for():
    net = nn.Sequential(
        *(evonorm.create_layer(name, 8) for name in ("evonorm-b0", "bn-relu", "evonorm-s0", "gn-relu", "frn")),
        evonorm.create_layer("evonorm-b0", 8, nonlinearity=False),
        nn.BatchNorm2d(8),
    )
    assert evonorm.sync_moments(net) is net
    assert [getattr(each, "synced", None) is not None for each in net] == [True, True, *[False] * 5]


def test_synced_layers_are_copied_and_pickled():
    layer = evonorm.sync_moments(evonorm.create_layer("evonorm-b0", 8))
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert twin.synced == SyncedMoments(None)
    assert kernel_for(layer.kernel_call(torch.randn(2, 8, 3, 3))).name in ("native", "eager")
