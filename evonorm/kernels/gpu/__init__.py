"""The kernels of a GPU: a plan becomes the text of Triton kernels, one per pass over the elements and per merge.

Read `layer.py` first: one layer as one autograd node; then what `evonorm show-kernel evonorm-b0` prints. `program.py`
makes that text: `forward.py` and `backward.py` say which kernels there are, `scope.py` names values and their lines,
`text.py` has the frame of each shape of kernel, `rows.py` where small values lie in between, `operations.py` every
instruction as text, and `functions.py` what that text calls. `tiles.py` says how much a program takes, `launch.py`
runs kernels one after the other, `modules.py` finds Triton and makes functions of text, `prepared.py` keeps them.
`first_use.py` compares with eager on the user's device, `operator.py` is what torch.compile sees.
"""
