"""A trained net with EvoNorm-B0 in place of BatchNorm and ReLU: what is left of what it learned, how to get it back.

    python examples/keep_what_was_learned.py

Needs scikit-learn for its handwritten digits (`pip install 'evonorm[vision]'`).
"""

import copy

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

import evonorm


def block(inputs: int, outputs: int, stride: int) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]


def train(net: nn.Module, pictures: Tensor, labels: Tensor, steps: int) -> None:
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for _ in range(steps):
        chosen = torch.randint(len(pictures), (64,))
        loss = nn.functional.cross_entropy(net.train()(pictures[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def right(net: nn.Module, pictures: Tensor, labels: Tensor) -> float:
    return 100 * (net.eval()(pictures).argmax(1) == labels).double().mean().item()


def main() -> None:
    torch.manual_seed(0)
    digits = load_digits()
    pictures, labels = torch.tensor(digits.images).float()[:, None] / 8 - 1, torch.tensor(digits.target)
    training, test = (pictures[:1300], labels[:1300]), (pictures[1300:], labels[1300:])

    blocks = [*block(1, 32, 1), *block(32, 64, 2), *block(64, 64, 1), *block(64, 64, 2)]
    old = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    train(old, *training, steps=150)
    print(f"with BatchNorm and ReLU: {right(old, *test):.1f} % right")

    naive = evonorm.convert(copy.deepcopy(old), "evonorm-b0", pictures[:8])
    print(f"naively converted: {right(naive, *test):.1f} % right")

    model = evonorm.convert(copy.deepcopy(old), "evonorm-b0", pictures[:8], calibrate=training[0][:128])
    print(f"calibrated on 128 pictures, nothing trained: {right(model, *test):.1f} % right")

    batches = [training[0][torch.randint(1300, (64,))] for _ in range(60)]
    evonorm.imitate(model, old.eval(), batches)  # no labels: the old net is the teacher
    print(f"after 60 steps with the old net as teacher: {right(model, *test):.1f} % right")


if __name__ == "__main__":
    main()
