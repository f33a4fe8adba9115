"""One small model for every way in which a normalization and an activation can stand in code.

Each says what must be found (`found`: name -> (activation, action)) and, as `converted`, what its forward must be
afterwards, written by hand: the oracle of the conversion, on the same modules.
"""

import torch
import torch.nn.functional as F
from torch import nn

LAYER, AFFINE, LEFT = "layer", "layer without activation", "leave alone"


class Tiny(nn.Module):
    """Two convolutions and two normalizations to combine."""

    found: dict[str, tuple[str, str]] = {"bn1": ("relu", LAYER)}

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.relu = nn.ReLU()

    def converted(self, x):
        return self.conv2(self.bn1(self.conv1(x)))


class One(Tiny):
    """Models without the second normalization."""

    def __init__(self):
        super().__init__()
        del self.bn2


class OwnModule(One):
    def forward(self, x):
        return self.conv2(self.relu(self.bn1(self.conv1(x))))


class ModuleInPlace(One):
    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.conv2(self.relu(self.bn1(self.conv1(x))))


class Functional(One):
    def forward(self, x):
        return self.conv2(F.relu(self.bn1(self.conv1(x)), inplace=True))


class FunctionalByName(One):
    def forward(self, x):
        return self.conv2(F.relu(inplace=False, input=self.bn1(self.conv1(x))))


class Method(One):
    def forward(self, x):
        return self.conv2(self.bn1(self.conv1(x)).relu())


class InPlaceStatement(One):
    def forward(self, x):
        y = self.bn1(self.conv1(x))
        F.relu_(y)
        return self.conv2(y)


class TorchFunction(One):
    def forward(self, x):
        y = self.bn1(self.conv1(x))
        y = torch.relu(
            y,
        )
        return self.conv2(y)


class Clamp(One):
    def forward(self, x):
        return self.conv2(self.bn1(self.conv1(x)).clamp(min=0))


class SiLU(One):
    found = {"bn1": ("silu", LAYER)}

    def forward(self, x):
        return self.conv2(F.silu(self.bn1(self.conv1(x))))


class SharedWithASum(Tiny):
    found = {"bn1": ("relu", LAYER), "bn2": ("", AFFINE)}

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(x)) + x)

    def converted(self, x):
        x = self.bn1(self.conv1(x))
        return torch.relu(self.bn2(self.conv2(x)) + x)


class SumInPlace(Tiny):
    found = {"bn1": ("relu", LAYER), "bn2": ("", AFFINE)}

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(x))
        y += x
        return F.relu(y)

    def converted(self, x):
        x = self.bn1(self.conv1(x))
        return torch.relu(self.bn2(self.conv2(x)) + x)


class Loop(Tiny):
    found = {"bn1": ("relu", LAYER), "bn2": ("relu", LAYER)}

    def forward(self, x):
        for conv, bn in ((self.conv1, self.bn1), (self.conv2, self.bn2)):
            x = F.relu(bn(conv(x)))
        return x

    def converted(self, x):
        return self.bn2(self.conv2(self.bn1(self.conv1(x))))


class LoopWithAnotherUse(Tiny):
    """One call in the code serves both a normalization and plain values: it cannot be taken out."""

    found = {"bn1": ("relu", LEFT), "bn2": ("", AFFINE)}

    def forward(self, x):
        for layer in (lambda y: self.bn1(self.conv1(y)), self.conv2):
            x = F.relu(layer(x))
        return self.bn2(x)

    def converted(self, x):
        return self.bn2(F.relu(self.conv2(F.relu(self.bn1(self.conv1(x))))))


class LoopOverFunctions(One):
    """One call in the code runs an activation and something else."""

    found = {"bn1": ("relu", LEFT)}

    def forward(self, x):
        for function in (self.conv1, self.bn1, self.relu, self.conv2, self.relu):
            x = function(x)
        return x

    def converted(self, x):
        return torch.relu(self.conv2(torch.relu(self.bn1(self.conv1(x)))))


class UsedTwice(One):
    found = {"bn1": ("relu", LEFT)}

    def forward(self, x):
        y = self.bn1(self.conv1(x))
        return self.conv2(F.relu(y)) + y

    def converted(self, x):
        return self.forward(x)


class UsedTwiceByModules(One):
    found = {"bn1": ("relu", LEFT)}

    def forward(self, x):
        y = self.bn1(self.conv1(x))
        return self.relu(y) + self.conv2(y)

    def converted(self, x):
        return self.forward(x)


class ReturnedToo(One):
    found = {"bn1": ("relu", LEFT)}

    def forward(self, x):
        y = self.bn1(self.conv1(x))
        return torch.relu(y), y

    def converted(self, x):
        return self.forward(x)


class ReadsTheValues(One):
    found = {"bn1": ("relu", LEFT)}

    def forward(self, x):
        y = self.bn1(self.conv1(x))
        highest = max(max(row) for row in y.mean((2, 3)).tolist())
        return self.conv2(F.relu(y)) * highest

    def converted(self, x):
        return self.forward(x)


class AsksForTheShape(One):
    def forward(self, x):
        y = self.bn1(self.conv1(x))
        assert_shape = (y.shape, y.size(0), y.device, y.dtype, y.is_contiguous(), len(y))
        return self.conv2(F.relu(y)) if assert_shape else y


class TwiceTheSame(One):
    """Both uses are the same activation, so both are the layer's."""

    def forward(self, x):
        y = self.bn1(self.conv1(x))
        return self.conv2(F.relu(y)) + self.relu(y)

    def converted(self, x):
        y = self.bn1(self.conv1(x))
        return self.conv2(y) + y


class TwoActivations(One):
    found = {"bn1": ("relu", LEFT)}

    def forward(self, x):
        y = self.bn1(self.conv1(x))
        return self.conv2(F.relu(y)) + F.silu(y)

    def converted(self, x):
        return self.forward(x)


class BehindAView(One):
    def forward(self, x):
        y = self.bn1(self.conv1(x))
        y = torch.relu(y.flatten(2).transpose(1, 2))
        return self.conv2(y.transpose(1, 2).view(x.shape[0], 8, *x.shape[2:]))


class ViewUsedToo(One):
    found = {"bn1": ("relu", LEFT)}

    def forward(self, x):
        y = self.bn1(self.conv1(x))
        flat = y.flatten(1)
        return self.conv2(torch.relu(y)).flatten(1) + flat

    def converted(self, x):
        return self.forward(x)


class BehindAPool(One):
    found = {"bn1": ("", LEFT)}

    def forward(self, x):
        return self.conv2(torch.relu(F.max_pool2d(self.bn1(self.conv1(x)), 2)))

    def converted(self, x):
        return self.forward(x)


class BehindADropout(One):
    found = {"bn1": ("", LEFT)}

    def forward(self, x):
        return self.conv2(torch.relu(F.dropout(self.bn1(self.conv1(x)), 0.0, self.training)))

    def converted(self, x):
        return self.forward(x)


class HalfOfIt(One):
    found = {"bn1": ("", LEFT)}

    def forward(self, x):
        a, b = self.bn1(self.conv1(x)).chunk(2, dim=1)
        return self.conv2(torch.cat([torch.relu(a), b], 1))

    def converted(self, x):
        return self.forward(x)


class NeverReached(Tiny):
    found = {"bn1": ("relu", LAYER), "bn2": ("", LEFT)}

    def forward(self, x):
        return self.conv2(self.relu(self.bn1(self.conv1(x))))


class UsedAsAFunction(Tiny):
    """Its forward is called past its hooks."""

    found = {"bn1": ("relu", LAYER), "bn2": ("", LEFT)}

    def forward(self, x):
        return F.relu(self.bn2.forward(self.conv2(self.relu(self.bn1(self.conv1(x))))))

    def converted(self, x):
        return F.relu(self.bn2(self.conv2(self.bn1(self.conv1(x)))))


class TrainingOnly(Tiny):
    found = {"bn1": ("relu", LAYER), "bn2": ("relu", LAYER)}

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(x))) if self.training else self.conv2(x)

    def converted(self, x):
        x = self.bn1(self.conv1(x))
        return self.bn2(self.conv2(x)) if self.training else self.conv2(x)


class BranchByMode(One):
    """Another call in training than in evaluation: both go."""

    def forward(self, x):
        y = self.bn1(self.conv1(x))
        y = F.relu(y) if self.training else torch.relu(y)
        return self.conv2(y)


class OtherActivationInTraining(One):
    found = {"bn1": ("", LEFT)}

    def forward(self, x):
        y = self.bn1(self.conv1(x))
        return self.conv2(F.leaky_relu(y) if self.training else F.relu(y))

    def converted(self, x):
        return self.forward(x)


class DropoutInTheSameMethod(One):
    """What a tracer would freeze: the dropout must still know whether it trains."""

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.dropout(x, 0.5, self.training)
        return self.conv2(x) if x.shape[0] > 1 else x

    def converted(self, x):
        return self.conv2(F.dropout(self.bn1(self.conv1(x)), 0.5, self.training))


class Gate(One):
    """A sigmoid is not what our layers stand in for; without the normalization it would saturate."""

    found = {"bn1": ("", LEFT)}

    def forward(self, x):
        y = self.conv1(x)
        return self.conv2(y * torch.sigmoid(self.bn1(y)))

    def converted(self, x):
        return self.forward(x)


class SwishByHand(One):
    found = {"bn1": ("", LEFT)}

    def forward(self, x):
        y = self.bn1(self.conv1(x))
        return self.conv2(y * torch.sigmoid(y))

    def converted(self, x):
        return self.forward(x)


class LeakyByHand(One):
    found = {"bn1": ("", LEFT)}

    def forward(self, x):
        y = self.bn1(self.conv1(x))
        return self.conv2(torch.where(y > 0, y, 0.1 * y))

    def converted(self, x):
        return self.forward(x)


class Scaled(One):
    """A product with something else bends nothing."""

    found = {"bn1": ("", AFFINE)}

    def forward(self, x):
        y = self.conv1(x)
        return self.conv2(self.bn1(y) * y.mean((2, 3), keepdim=True))

    def converted(self, x):
        return self.forward(x)


class CalledTwiceAlike(One):
    def __init__(self):
        super().__init__()
        self.conv0 = nn.Conv2d(8, 8, 1)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return self.conv2(self.relu(self.bn1(self.conv0(x))))

    def converted(self, x):
        return self.conv2(self.bn1(self.conv0(self.bn1(self.conv1(x)))))


class CalledTwiceNotAlike(One):
    found = {"bn1": ("", LEFT)}

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return self.bn1(self.conv2(x))

    def converted(self, x):
        return self.forward(x)


class SharedInSequentials(nn.Module):
    """One ReLU object in three places, one of them not behind a normalization."""

    found = {"body.1": ("relu", LAYER), "body.4": ("relu", LAYER)}

    def __init__(self):
        super().__init__()
        relu = nn.ReLU(inplace=True)
        conv = [nn.Conv2d(3, 8, 1), nn.Conv2d(8, 8, 1)]
        self.body = nn.Sequential(conv[0], nn.BatchNorm2d(8), relu, conv[1], nn.BatchNorm2d(8), relu)
        self.head = nn.Sequential(nn.Conv2d(8, 8, 1), relu)

    def forward(self, x):
        return self.head(self.body(x))

    def converted(self, x):
        body, head = self.body, self.head
        return torch.relu(head[0](body[4](body[3](body[1](body[0](x))))))


class CallsItsParent(Functional):
    """The call stands in a method that `super()` finds: a subclass could not leave it out."""

    found = {"bn1": ("relu", LEFT)}

    def forward(self, x):
        return super().forward(x)

    def converted(self, x):
        return self.conv2(F.relu(self.bn1(self.conv1(x))))


class Hidden(One):
    """Free variables, defaults, private names and `super()` in a method that is written anew."""

    def __init__(self):
        super().__init__()
        self.__scale = 2.0

    def extra(self):
        return 1.0

    def forward(self, x, *, power=1, **rest):
        y = F.relu(self.bn1(self.conv1(x)) ** power if power != 1 else self.bn1(self.conv1(x)))
        return [self.conv2(y) * self.__scale + super().__len__ for _ in (1,)] if rest else self.conv2(y) * self.__scale

    def converted(self, x):
        return self.conv2(self.bn1(self.conv1(x))) * 2.0


class InAnotherMethod(One):
    def first(self, x):
        return F.relu(self.bn1(self.conv1(x)))

    def forward(self, x):
        return self.conv2(self.first(x))


def relu_somewhere_else(x):
    return F.relu(x)


class InAFreeFunction(One):
    found = {"bn1": ("relu", LEFT)}

    def forward(self, x):
        return self.conv2(relu_somewhere_else(self.bn1(self.conv1(x))))

    def converted(self, x):
        return self.forward(x)


class GroupAndInstance(Tiny):
    found = {"bn1": ("gelu", LAYER), "bn2": ("leaky_relu", LAYER)}

    def __init__(self):
        super().__init__()
        self.bn1, self.bn2 = nn.GroupNorm(2, 8), nn.InstanceNorm2d(8)
        self.relu = nn.LeakyReLU(0.2)

    def forward(self, x):
        return self.relu(self.bn2(self.conv2(F.gelu(self.bn1(self.conv1(x))))))

    def converted(self, x):
        return self.bn2(self.conv2(self.bn1(self.conv1(x))))


class LastAxis(One):
    found = {"bn1": ("", LEFT)}

    def __init__(self):
        super().__init__()
        self.bn1 = nn.LayerNorm(8)

    def forward(self, x):
        return self.conv2(torch.relu(self.bn1(self.conv1(x).movedim(1, -1))).movedim(-1, 1))

    def converted(self, x):
        return self.forward(x)


class Vectors(nn.Module):
    found = {"norm": ("relu", LAYER)}

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)

    def forward(self, x):
        return self.last(F.relu(self.norm(self.first(x.mean((2, 3))))))

    def converted(self, x):
        return self.last(self.norm(self.first(x.mean((2, 3)))))


class MoreThanItsClassSays(One):
    """A subclass of torch's that a new layer cannot stand in for."""

    found = {"bn1": ("", LEFT)}

    class Scaled(nn.BatchNorm2d):
        def forward(self, x):
            return 2 * super().forward(x)

    def __init__(self):
        super().__init__()
        self.bn1 = self.Scaled(8)

    def forward(self, x):
        return self.conv2(F.relu(self.bn1(self.conv1(x))))

    def converted(self, x):
        return self.forward(x)


class HiddenInside(One):
    """An activation inside a subclass of torch's, by no name that we know: not a normalization without one."""

    found = {"bn1": ("", LEFT)}

    class WithReLU(nn.GroupNorm):
        def forward(self, x):
            return F.relu(super().forward(x))

    def __init__(self):
        super().__init__()
        self.bn1 = self.WithReLU(2, 8)

    def forward(self, x):
        return self.conv2(self.bn1(self.conv1(x)))

    def converted(self, x):
        return self.forward(x)


class UnknownNorm(One):
    found = {"bn1": ("", LEFT)}

    class StrangeNorm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(8))

        def forward(self, x):
            return x * self.weight.view(1, -1, 1, 1) / (1 + x.abs().mean())

    def __init__(self):
        super().__init__()
        self.bn1 = self.StrangeNorm()

    def forward(self, x):
        return self.conv2(F.relu(self.bn1(self.conv1(x))))

    def converted(self, x):
        return self.forward(x)


TINY = [
    each
    for each in globals().values()
    if isinstance(each, type) and issubclass(each, nn.Module) and "found" in dir(each) and each not in (Tiny, One)
]
CONVERTIBLE = [each for each in TINY if LAYER in [action for _, action in each.found.values()]]
