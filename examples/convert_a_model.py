"""Somebody else's model with EvoNorm-S0 in place of BatchNorm and ReLU: look, convert, train.

    python examples/convert_a_model.py

Needs torchvision (`pip install 'evonorm[vision]'`). Random weights and pictures: it shows how, not how well.
"""

import torch
import torchvision

import evonorm


def main() -> None:
    torch.manual_seed(0)
    model = torchvision.models.resnet18(num_classes=10)
    example = torch.randn(2, 3, 64, 64)

    print(evonorm.positions(model, example))  # what would be done; changes nothing

    evonorm.convert(model, "evonorm-s0", example)  # in place, after a check that the surgery itself changes nothing
    print(model.layer1[0])

    spared = evonorm.no_weight_decay(model)  # gamma, beta and v1; made after the conversion: the parameters are new
    groups = [
        {"params": [p for name, p in model.named_parameters() if name not in spared], "weight_decay": 1e-4},
        {"params": [p for name, p in model.named_parameters() if name in spared], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.SGD(groups, lr=0.02, momentum=0.9)
    pictures, labels = torch.randn(8, 3, 64, 64), torch.arange(8)
    for step in range(6):
        loss = torch.nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step + 1}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
