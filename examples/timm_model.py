"""A model of timm with EvoNorm-S0: by its `norm_layer` where timm has fused layers, by conversion everywhere else.

    python examples/timm_model.py

Needs timm (`pip install 'evonorm[vision]'`). Random weights and pictures: it shows how, not how well.
"""

import timm
import torch

import evonorm


def loss_of_a_step(model: torch.nn.Module, pictures: torch.Tensor, labels: torch.Tensor) -> float:
    spared = evonorm.no_weight_decay(model)
    groups = [
        {"params": [p for name, p in model.named_parameters() if name not in spared], "weight_decay": 1e-4},
        {"params": [p for name, p in model.named_parameters() if name in spared], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.SGD(groups, lr=0.01, momentum=0.9)
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(model.train()(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main() -> None:
    torch.manual_seed(0)
    pictures, labels = torch.randn(4, 3, 64, 64), torch.arange(4)

    fused = timm.create_model("test_efficientnet", norm_layer=evonorm.timm_norm_act("evonorm-s0"), num_classes=4)
    print(f"built with norm_layer: {count(fused)} layers of ours, loss {loss_of_a_step(fused, pictures, labels):.3f}")

    apart = timm.create_model("test_resnet", num_classes=4)  # normalization and activation are modules of their own
    print(evonorm.positions(apart, pictures).summary)
    evonorm.convert(apart, "evonorm-s0", pictures)
    print(f"converted: {count(apart)} layers of ours, loss {loss_of_a_step(apart, pictures, labels):.3f}")


def count(model: torch.nn.Module) -> int:
    return sum(isinstance(module, evonorm.NormAct) for module in model.modules())


if __name__ == "__main__":
    main()
