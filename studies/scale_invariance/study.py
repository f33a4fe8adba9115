"""Which layers do not mind the scale of their input (paper, discussion of EvoNorm-B0 and S0).

    python -m studies.scale_invariance.study              # what is kept
    FRESH=1 python -m studies.scale_invariance.study      # computes it again, in seconds

Doubles the input and draws how much that changes the output, |f(2sx) - f(sx)| / |f(sx)|, over the scale s. It is 0 for
a layer that is invariant, 1 for one that grows with its input (ReLU). In training mode, as the layers are before
training (v0 = 0, v1 = 1), in double precision.
"""

import argparse

import torch

import evonorm
from evonorm.graph import CATALOG
from evonorm.pictures import Axes, Figure, Line, line_chart, markdown_table, write_figures
from studies.kept_or_fresh import fresh, kept_layers, results, scratch

LAYERS = ("max(x, 0)", "evonorm-s0", "evonorm-b1", "evonorm-b0", "bn-relu")
TABLE = ("max(x, 0)", *CATALOG)
POWERS = [k / 4 for k in range(-8, 17)]  # from 1e-2 to 1e4
CHANNELS = 64
WHAT = "scale invariance"


def changes(layer: str) -> list[float]:
    """How much a doubling changes the output at each scale."""
    images = torch.randn(8, CHANNELS, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    module = evonorm.create_layer(layer, CHANNELS).double()
    found = []
    with torch.no_grad():
        for power in POWERS:
            once, twice = module(10**power * images), module(2 * 10**power * images)
            found.append(float((twice - once).norm() / once.norm()))
    return found


def curves() -> dict[str, list[float]]:
    """The changes of every layer, from the file where they are known."""
    layers = TABLE if fresh() else kept_layers("scale_invariance", WHAT)
    questions = {layer: {"what": WHAT, "layer": layer} for layer in layers}
    kept = results("scale_invariance")
    kept.expect(list(questions.values()), "curves")
    for layer, question in questions.items():
        if kept.find(question) is None:
            kept.keep(question, {"power_of_ten": POWERS, "change": changes(layer)})
    return {layer: answer["change"] for layer, question in questions.items() if (answer := kept.find(question))}


def figure(found: dict[str, list[float]]) -> Figure:
    lines = [Line(layer, POWERS, found[layer]) for layer in LAYERS]
    axes = Axes("scale of the input (power of ten)", "change by doubling it", (-2, 4), (-0.05, 1.05))
    title = "How much doubling the input changes the output"
    rows = [(layer, power, change) for layer in found for power, change in zip(POWERS, found[layer], strict=True)]
    columns = ("layer", "power_of_ten", "change")
    return Figure("scale_invariance", title, line_chart(title, lines, axes), columns, rows)


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    found = curves()
    columns = ["layer", *(f"x {10**power:g}" for power in POWERS[::4])]
    print(markdown_table(columns, [[layer, *(f"{change:.2g}" for change in found[layer][::4])] for layer in found]))
    write_figures([figure(found)], scratch("scale_invariance"))


if __name__ == "__main__":
    main()
