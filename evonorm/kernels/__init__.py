"""How a graph runs. Read `call.py` first: one call as one value; then `eager.py`: plain torch, the reference.

`choose.py` says which kernel runs a call, and why the others do not. `synced.py` takes moments over all ranks,
`lean.py` is what exporters see, `compiling.py` what operators for torch.compile share, `tensors.py` what a kernel that
reads memory must know. `plan/` turns a graph into what any device must compute, `cpu/` makes that a program of the
native library, `gpu/` the text of Triton kernels. `probes/` are not kernels: they tell in a fraction of a millisecond
what a graph does, for checks and fingerprints.
"""

from evonorm.kernels.call import THIS_BATCH as THIS_BATCH
from evonorm.kernels.call import BatchMoments as BatchMoments
from evonorm.kernels.call import Kernel as Kernel
from evonorm.kernels.call import KernelCache as KernelCache
from evonorm.kernels.call import LayerCall as LayerCall
from evonorm.kernels.call import Moments as Moments
from evonorm.kernels.call import MovingMoments as MovingMoments
from evonorm.kernels.call import SyncedMoments as SyncedMoments
from evonorm.kernels.call import check_affine as check_affine
from evonorm.kernels.choose import forcing as forcing
from evonorm.kernels.choose import kernel_for as kernel_for
from evonorm.kernels.choose import run_layer as run_layer
from evonorm.kernels.choose import why_not as why_not
from evonorm.kernels.cpu.library import find_library as find_library
from evonorm.kernels.cpu.planner import instruction_count as instruction_count
from evonorm.kernels.eager import moment_over as moment_over
from evonorm.kernels.eager import per_channel as per_channel
from evonorm.kernels.eager import run_eager as run_eager
from evonorm.kernels.eager import torch_function as torch_function
from evonorm.kernels.gpu.modules import find_triton as find_triton
from evonorm.kernels.gpu.program import triton_text as triton_text
from evonorm.kernels.probes.fingerprint import Response as Response
from evonorm.kernels.probes.fingerprint import fingerprint as fingerprint
from evonorm.kernels.probes.fingerprint import probe_batches as probe_batches
from evonorm.kernels.probes.fingerprint import respond as respond
from evonorm.kernels.probes.likeness import FAMILY as FAMILY
from evonorm.kernels.probes.likeness import likeness as likeness
from evonorm.kernels.probes.likeness import signature as signature
from evonorm.kernels.probes.small_arrays import Probes as Probes
from evonorm.kernels.probes.small_arrays import backward_small as backward_small
from evonorm.kernels.probes.small_arrays import forward_small as forward_small
from evonorm.kernels.probes.small_arrays import run_small as run_small
