import pytest
import torch
from torch import nn

from evonorm.layers import NormAct
from evonorm.training import accuracy, reestimated_moments


class Constant(nn.Module):
    def __init__(self, logits):
        super().__init__()
        self.logits = torch.tensor(logits)

    def forward(self, x):
        return self.logits


def test_a_picture_with_a_logit_that_is_not_finite_counts_as_wrong():
    logits = [[2.0, 1.0], [1.0, 2.0], [float("nan"), 0.0], [float("inf"), 0.0]]
    labels = torch.tensor([0, 0, 0, 0])
    assert accuracy(Constant(logits), [(torch.zeros(4, 3, 1, 1), labels)]) == 0.25


def batches():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(6, 4, 3, 3, generator=generator) * (i + 1) + i for i in range(3)]


@pytest.mark.parametrize("make", [lambda: nn.BatchNorm2d(4), lambda: NormAct("(x - mean_bwh(x)) / std_bwh(x)", 4)])
def test_reestimated_moments_are_the_plain_average_and_go_again(make):
    layer = make()
    layer(torch.randn(8, 4, 3, 3))
    layer.running_mean.fill_(float("nan"))  # even this must not leak into the average
    before = {name: buffer.clone() for name, buffer in layer.named_buffers()}
    with reestimated_moments(layer, batches()):
        wanted = torch.stack([batch.mean((0, 2, 3)) for batch in batches()]).mean(0)
        torch.testing.assert_close(layer.running_mean, wanted, rtol=1e-5, atol=1e-5)
    for name, buffer in layer.named_buffers():
        torch.testing.assert_close(buffer, before[name], rtol=0, atol=0, equal_nan=True)
    assert layer.momentum == 0.1


def test_the_moments_come_back_after_an_error():
    layer = nn.BatchNorm2d(4)
    before = layer.running_var.clone()
    with pytest.raises(RuntimeError), reestimated_moments(layer, batches()):
        raise RuntimeError
    assert torch.equal(layer.running_var, before)
    assert layer.momentum == 0.1
