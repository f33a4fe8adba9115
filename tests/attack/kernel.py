"""Odd inputs to the native kernel, against plain torch."""

import torch

from evonorm.graph import CATALOG
from evonorm.kernels import run_eager
from evonorm.layers import create_layer
from tests.attack.frame import Attack, SilentError

# Of the first two the divisor passes through zero, which is luck in fp32 (docs/kernel.md); the last is plain torch.
LEFT_OUT = ("b0-add", "b0-no-global", "pixelnorm-relu")
LAYERS = [entry.formula for name, entry in CATALOG.items() if entry.formula and name not in LEFT_OUT]
# Of fp32 for sets of two values that happen to lie close together (docs/kernel.md, "A mean is kept in fp32").
DTYPES = {torch.float32: 2e-3, torch.float16: 5e-3, torch.bfloat16: 5e-2}
LARGEST_HALF = 6e4


def odd_tensor(rng):
    """Few or many channels, no to three axes of space, odd sizes, dense, strided, expanded or negated views."""
    space = [rng.choice([1, 2, 3, 5, 8, 17]) for _ in range(rng.randrange(4))]
    x = torch.randn(rng.randint(1, 5), 8 * rng.randint(1, 8), *space)
    x = (x + rng.choice([0.0, 0.3, 5.0])) * rng.choice([1e-3, 1.0, 1.0, 30.0])
    kind = rng.randrange(6)
    if kind == 1 and x.ndim == 4:
        x = x.to(memory_format=torch.channels_last)
    elif kind == 2:
        x = torch.stack((x, x), -1)[..., 0]
    elif kind == 3:
        x = x.flip(0)
    elif kind == 4:
        x = torch._neg_view(x)
    elif kind == 5 and x.ndim > 2:
        x = x.transpose(-1, 1).contiguous().transpose(-1, 1)
    return x


def distance(found, wanted):
    """Without the largest one of many: an element on the kink of a max is on either side by rounding."""
    squares = (found - wanted).square()
    return (squares.sum() - (squares.max() if squares.numel() > 100 else 0.0)).clamp(min=0).sqrt().item()


def kernel(_):
    def attempt(rng):
        torch.manual_seed(rng.getrandbits(31))
        dtype = rng.choice([torch.float32] * 4 + [torch.float16, torch.bfloat16])
        x = odd_tensor(rng).to(dtype).requires_grad_()
        layer = create_layer(rng.choice(LAYERS), x.shape[1]).train(rng.random() < 0.7)
        gy = torch.randn(x.shape).to(dtype)
        y = layer.eval()(x) if not layer.training else layer(x)
        found = [y.detach(), torch.autograd.grad(y, x, gy)[0]]
        exact = layer.double()
        wide = x.detach().double().requires_grad_()
        expected, _ = run_eager(exact.kernel_call(wide))
        wanted = [expected.detach(), torch.autograd.grad(expected, wide, gy.double())[0]]
        narrow = x.detach().float().requires_grad_()
        plain, _ = run_eager(layer.float().kernel_call(narrow))
        beside = [plain.detach(), torch.autograd.grad(plain, narrow, gy.float())[0]]
        # What a gradient would be if nothing in it cancelled: one that is zero by cancelling is rounding, in eager too.
        cancelled = 0.2 * (gy.double().norm() * expected.norm() / (wide.norm() + 1e-12)).item()
        for what, a, b, c in zip(("y", "gradient"), found, wanted, beside, strict=True):
            size = max(b.norm().item(), cancelled if what == "gradient" else 0.0) + 1e-12 * b.numel()
            error, eager = (distance(each.double(), b) / size for each in (a, c))
            overflows = dtype == torch.float16 and b.abs().max() > LARGEST_HALF
            if not error <= max(DTYPES[dtype], 5 * eager) and not overflows:
                raise SilentError(f"{layer} {tuple(x.shape)} {dtype} {what}: {error:.2g}, eager {eager:.2g}")
        return "equal"

    return attempt


KERNEL = [Attack("kernel against eager", kernel, 1.0)]
