"""How a graph runs. Read `eager.py` first: plain torch, the reference for every other kernel.

`choose.py` says which kernel runs a layer. `plan/` turns a graph into a program, `cpu/` runs it in the native library.
`probes/` are not kernels: they tell in a fraction of a millisecond what a graph does, for checks and fingerprints.
"""

from evonorm.kernels.choose import run_layer as run_layer
from evonorm.kernels.eager import run_eager as run_eager

__all__ = ["run_eager", "run_layer"]
from evonorm.kernels.choose import forced_kernel as forced_kernel
from evonorm.kernels.choose import why_not_native as why_not_native
from evonorm.kernels.cpu.library import find_library as find_library
from evonorm.kernels.eager import moment_over as moment_over
from evonorm.kernels.eager import torch_function as torch_function
from evonorm.kernels.probes.fingerprint import Response as Response
from evonorm.kernels.probes.fingerprint import fingerprint as fingerprint
from evonorm.kernels.probes.fingerprint import probe_batches as probe_batches
from evonorm.kernels.probes.fingerprint import respond as respond
from evonorm.kernels.probes.small_arrays import Probes as Probes
from evonorm.kernels.probes.small_arrays import backward_small as backward_small
from evonorm.kernels.probes.small_arrays import forward_small as forward_small
from evonorm.kernels.probes.small_arrays import run_small as run_small
