"""Depthwise convolutions on maps smaller than their kernel say what PyTorch's own say."""

import pytest
import torch
from torch import nn

from evonorm.models.convolution import DepthwiseConv2d, conv


@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 3), (3, 3), (4, 5), (3, 7), (6, 6)])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (3, 2), (5, 1), (5, 2)])
def test_small_maps_give_pytorchs_values_and_gradients(height, width, kernel, stride):
    ours = conv(8, 8, kernel, stride, groups=8).double()
    theirs = nn.Conv2d(8, 8, kernel, stride, kernel // 2, groups=8, bias=False).double()
    theirs.load_state_dict(ours.state_dict())
    images = torch.randn(3, 8, height, width, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = []
    for each in (ours, theirs):
        x = images.clone().requires_grad_()
        output = each(x)
        found.append([output, *torch.autograd.grad(output.square().sum(), [x, each.weight])])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_only_depthwise_convolutions_are_ours():
    assert isinstance(conv(8, 8, 3, groups=8), DepthwiseConv2d)
    assert not isinstance(conv(8, 8, 3), DepthwiseConv2d)
