"""Which layers do not mind the scale of their input (paper, discussion of EvoNorm-B0 and S0).

    python reproduce/scale_invariance.py --out docs/results

Doubles the input and draws how much that changes the output, |f(2sx) - f(sx)| / |f(sx)|, over the scale s. It is 0 for
a layer that is invariant, 1 for one that grows with its input (ReLU). In training mode, as the layers are before
training (v0 = 0, v1 = 1), in double precision.
"""

import argparse
from pathlib import Path

import torch

import evonorm
from evonorm.graph import CATALOG
from evonorm.pictures import Axes, Figure, Line, line_chart, write_figures

LAYERS = ("max(x, 0)", "evonorm-s0", "evonorm-b1", "evonorm-b0", "bn-relu")
TABLE = ("max(x, 0)", *CATALOG)
POWERS = [k / 4 for k in range(-8, 17)]  # from 1e-2 to 1e4
CHANNELS = 64


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/results"), help="a folder for the figure and its data")
    out = parser.parse_args().out
    curves = {layer: changes(layer) for layer in TABLE}
    print("| layer | " + " | ".join(f"x {10**power:g}" for power in POWERS[::4]) + " |")
    print("|---" * (1 + len(POWERS[::4])) + "|")
    for layer, curve in curves.items():
        print(f"| {layer} | " + " | ".join(f"{change:.2g}" for change in curve[::4]) + " |")
    lines = [Line(layer, POWERS, curves[layer]) for layer in LAYERS]
    axes = Axes("scale of the input (power of ten)", "change by doubling it", (-2, 4), (-0.05, 1.05))
    title = "How much doubling the input changes the output"
    rows = [(layer, power, change) for layer in TABLE for power, change in zip(POWERS, curves[layer], strict=True)]
    columns = ("layer", "power_of_ten", "change")
    out.mkdir(parents=True, exist_ok=True)
    write_figures([Figure("scale_invariance", title, line_chart(title, lines, axes), columns, rows)], out)


if __name__ == "__main__":
    main()
