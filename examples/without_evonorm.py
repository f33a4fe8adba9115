"""A layer that a search found, as a file that needs torch alone: written here, used in a process without evonorm.

    python examples/without_evonorm.py

The layer is the best of the search that is kept in studies/search. `evonorm export RUN CANDIDATE layer.py` writes the
same file on the command line.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import torch

import evonorm
from evonorm.export import layer_source

FOUND = "x / (std_bwh(abs(abs(x))) / max(tanh(sigmoid(x)), v0))"
THERE = """
import sys
sys.modules["evonorm"] = sys.modules["evonorm.layers"] = None  # as where it is not installed
import torch
from layer import Found

layer = Found(16)
layer.load_state_dict(torch.load("layer.pt", weights_only=True))
torch.save(layer.eval()(torch.load("x.pt", weights_only=True)), "y.pt")
print(layer.evonorm_formula)
"""


def main() -> None:
    torch.manual_seed(0)
    ours, x = evonorm.create_layer(FOUND, 16), torch.randn(8, 16, 5, 5)
    ours(x)  # a step of training: its moving moments are no longer those of a new layer
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "layer.py").write_text(layer_source(evonorm.graph_of(FOUND), "Found"))
        torch.save(ours.state_dict(), folder / "layer.pt")
        torch.save(x, folder / "x.pt")
        told = subprocess.run([sys.executable, "-c", THERE], cwd=folder, check=True, capture_output=True, text=True)
        there = torch.load(folder / "y.pt", weights_only=True)
        lines = len((folder / "layer.py").read_text().splitlines())
    with torch.no_grad():
        difference = (there - ours.eval()(x)).abs().max().item()
    print(f"{told.stdout.strip()}, {lines} lines of source")
    print(f"largest difference to the layer in evonorm: {difference:.1e}")


if __name__ == "__main__":
    main()
