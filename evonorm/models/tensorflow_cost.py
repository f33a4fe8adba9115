"""A detector's multiply-adds as the paper's table has them: by TensorFlow's profiler, half of all float operations.

There an element-wise operation is half a multiply-add for each element, so are an addition of a bias and each element
that a mean reads; ReLU, sigmoid and roots are free, and nothing folds into a convolution.
"""

from evonorm.models.forward_trace import Trace

# Multiply-adds for each normalized element with and without activation, read off TensorFlow's own graphs with the
# layers as the authors published them.
PER_ELEMENT = {
    "bn-relu": (1.0, 1.0),
    "bn-silu": (2.0, 1.0),
    "gn-relu": (4.0, 4.0),
    "evonorm-b0": (5.0, 1.0),  # the table fits 4.5 better: one operation less than in the published file
    "evonorm-s0": (4.5, 1.0),
}
BOXES = 0.15e9  # crops of 1000 + 100 regions, box arithmetic and suppression in the same graphs (.149 and .154)


def tensorflow_multiply_adds(layer: str, trace: Trace) -> int | None:
    """For one image, or None for a layer that the paper's table does not have."""
    if layer not in PER_ELEMENT:
        return None
    active, linear = PER_ELEMENT[layer]
    layers = sum(
        step.times * step.channels * step.height * step.width * (active if step.nonlinearity else linear)
        for step in trace.layers
    )
    additions = sum(step.additions for step in trace.steps) / 2
    return round(trace.multiply_adds + layers + additions + BOXES)
