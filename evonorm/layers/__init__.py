"""What people import: layers that replace a normalization and the activation behind it.

Read `norm_act.py` first: one module that runs any graph. `conventions.py` is what all layers are to the code around
them, `evonorms.py` names the paper's six, `baselines.py` holds what they are compared with, `create.py` makes any of
them from a name, a formula or a graph, `lazy.py` learns the channels from the first input. `moving_moments.py` finds
the moving moments of a model anew or holds them still, `sync.py` takes moments over all ranks, `checkpoints.py` reads
those of other people's layers, `weight_decay.py` says which parameters are better left without it, `exported.py` runs
layers that were exported as source.
"""

from evonorm.layers.baselines import BatchNormAct as BatchNormAct
from evonorm.layers.baselines import FilterResponseNorm as FilterResponseNorm
from evonorm.layers.baselines import GroupNormAct as GroupNormAct
from evonorm.layers.baselines import PixelNormReLU as PixelNormReLU
from evonorm.layers.conventions import Layer as Layer
from evonorm.layers.create import create_layer as create_layer
from evonorm.layers.create import layer_names as layer_names
from evonorm.layers.create import register_layer as register_layer
from evonorm.layers.evonorms import EvoNormB0 as EvoNormB0
from evonorm.layers.evonorms import EvoNormB1 as EvoNormB1
from evonorm.layers.evonorms import EvoNormB2 as EvoNormB2
from evonorm.layers.evonorms import EvoNormS0 as EvoNormS0
from evonorm.layers.evonorms import EvoNormS1 as EvoNormS1
from evonorm.layers.evonorms import EvoNormS2 as EvoNormS2
from evonorm.layers.exported import run_exported as run_exported
from evonorm.layers.lazy import LazyNormAct as LazyNormAct
from evonorm.layers.moving_moments import freeze_moments as freeze_moments
from evonorm.layers.moving_moments import update_moments as update_moments
from evonorm.layers.norm_act import NormAct as NormAct
from evonorm.layers.norm_act import moving_names as moving_names
from evonorm.layers.sync import sync_moments as sync_moments
from evonorm.layers.weight_decay import no_weight_decay as no_weight_decay
