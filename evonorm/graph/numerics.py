"""Where a function would leave the numbers: what a root or logarithm adds, how small a divisor may be.

Every kernel, probe and exported source uses these; the C++ has its copy in `native/instruction_math.h`. The paper
leaves them open; docs/paper_map.md says how we read it.
"""

EPS = 1e-5  # under the root of a rms or std, unless a layer has its own
LOG_SQRT_EPS = 1e-5  # inside the signed log and sqrt
SMALLEST_DIVISOR = 1e-6  # a division pushes its divisor away from zero to this, keeping its sign
