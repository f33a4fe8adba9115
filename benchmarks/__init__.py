"""How fast the layers are, measured. `layers.py`: one layer; `steps.py`: whole nets; `timing.py`: how."""
