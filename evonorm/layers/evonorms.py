"""The paper's six layers by name. Each is `NormAct` with its formula from the catalog."""

from evonorm.graph import graph_of
from evonorm.layers.norm_act import NormAct


class NamedNormAct(NormAct):
    """A NormAct whose graph is a line of the catalog."""

    name: str

    def __init__(
        self,
        channels: int,
        nonlinearity: bool = True,
        groups: int = 32,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
    ) -> None:
        super().__init__(graph_of(self.name), channels, nonlinearity, groups, eps, momentum)


class EvoNormB0(NamedNormAct):
    r"""x / max(std_bwh(x), v1 * x + std_wh(x)) * gamma + beta. The paper's choice for batches of 32 and more."""

    name = "evonorm-b0"


class EvoNormB1(NamedNormAct):
    """x / max(std_bwh(x), (x + 1) * rms_wh(x)) * gamma + beta."""

    name = "evonorm-b1"


class EvoNormB2(NamedNormAct):
    """x / max(std_bwh(x), rms_wh(x) - x) * gamma + beta."""

    name = "evonorm-b2"


class EvoNormS0(NamedNormAct):
    """x * sigmoid(v1 * x) / std_whcg(x) * gamma + beta. Needs no batch: the paper's choice for small batches."""

    name = "evonorm-s0"


class EvoNormS1(NamedNormAct):
    """x * sigmoid(x) / std_whcg(x) * gamma + beta."""

    name = "evonorm-s1"


class EvoNormS2(NamedNormAct):
    """x * sigmoid(x) / rms_whcg(x) * gamma + beta."""

    name = "evonorm-s2"


EVONORMS = (EvoNormB0, EvoNormB1, EvoNormB2, EvoNormS0, EvoNormS1, EvoNormS2)
