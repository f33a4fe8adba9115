"""Other people's models: finds every normalization and the activation behind it, and puts a layer in their place.

Read `converter.py` first: `positions` looks, `convert` looks, checks and replaces. `run.py` calls a model with an
example, `watch.py` sees what becomes of each normalization's output and `seen.py` holds it, `norms.py` and
`activations.py` say what counts as one, `decide.py` makes decisions of it, `table.py` shows them. `surgery.py` replaces
modules, `rewrite.py` leaves calls out of a method, `check.py` proves both before they touch the model, `start.py` makes
the new layers, `calibrate.py` brings them close to what they replace, `imitate.py` trains on from there. `fold.py` is
for inference. `timm_layers.py` makes layers for timm's own `norm_layer=`.
"""

from evonorm.conversion.activations import ACTIVATIONS as ACTIVATIONS
from evonorm.conversion.check import SurgeryError as SurgeryError
from evonorm.conversion.converter import convert as convert
from evonorm.conversion.converter import positions as positions
from evonorm.conversion.fold import fold as fold
from evonorm.conversion.imitate import imitate as imitate
from evonorm.conversion.table import Position as Position
from evonorm.conversion.table import Positions as Positions
from evonorm.conversion.timm_layers import register_in_timm as register_in_timm
from evonorm.conversion.timm_layers import timm_norm_act as timm_norm_act
