"""The paper's layers once more, in numpy float64, written from its pseudocode, tables and lists, not from our graphs.

Works on arrays (..., N, C, S) with the spatial axes flattened to S, real or complex: with complex input the imaginary
part carries an exact derivative (the complex-step method), which gives gradients to machine precision without autograd.
"""

import numpy as np

STEP = 1e-30


def maximum(a, b):
    a, b = np.broadcast_arrays(a, b)
    return np.where(a.real == b.real, (a + b) / 2, np.where(a.real > b.real, a, b))


def absolute(a):
    return a * np.sign(a.real)


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def variance(x, axes):
    return np.mean((x - x.mean(axes, keepdims=True)) ** 2, axes, keepdims=True)


BATCH, INSTANCE, LAYER = (-3, -1), (-1,), (-2, -1)


def grouped(x, groups, moment):
    shape = x.shape
    x = x.reshape(*shape[:-2], groups, shape[-2] // groups, shape[-1])
    return np.broadcast_to(moment(x, (-2, -1)), x.shape).reshape(shape)


def mean_square(x, axes):
    return np.mean(x**2, axes, keepdims=True)


class Paper:
    """One layer call: inputs and parameters as attributes, the paper's helper functions as methods."""

    def __init__(self, x, gamma, beta, v0, v1, groups, eps, moving=None):
        self.x, self.gamma, self.beta, self.v0, self.v1 = x, gamma, beta, v0, v1
        self.groups, self.eps, self.moving = groups, eps, moving

    def batch_std(self):
        raw = self.moving["running_var"] if self.moving else variance(self.x, BATCH)
        return np.sqrt(raw + self.eps)

    def batch_mean(self):
        return self.moving["running_mean"] if self.moving else self.x.mean(BATCH, keepdims=True)

    def batch_rms(self):
        raw = self.moving["running_square"] if self.moving else mean_square(self.x, BATCH)
        return np.sqrt(raw + self.eps)

    def instance_std(self, x=None):
        return np.sqrt(variance(self.x if x is None else x, INSTANCE) + self.eps)

    def instance_rms(self):
        return np.sqrt(mean_square(self.x, INSTANCE) + self.eps)

    def layer_rms(self):
        return np.sqrt(mean_square(self.x, LAYER) + self.eps)

    def group_std(self):
        return np.sqrt(grouped(self.x, self.groups, variance) + self.eps)

    def group_rms(self):
        return np.sqrt(grouped(self.x, self.groups, mean_square) + self.eps)

    def group_mean(self):
        return grouped(self.x, self.groups, lambda x, axes: x.mean(axes, keepdims=True))

    def affine(self, z):
        return z * self.gamma + self.beta

    def batch_norm(self):
        return self.affine((self.x - self.batch_mean()) / self.batch_std())

    def group_norm(self):
        return self.affine((self.x - self.group_mean()) / self.group_std())

    def layer_norm(self):
        centred = self.x - self.x.mean(LAYER, keepdims=True)
        return self.affine(centred / np.sqrt(variance(self.x, LAYER) + self.eps))

    def filter_response(self):
        return self.affine(self.x / self.instance_rms())

    def pixel_norm(self):
        return self.affine(self.x / np.sqrt(np.mean(self.x**2, -2, keepdims=True) + self.eps))

    def swish(self, z):
        return z * sigmoid(self.v1 * z)

    def b_series(self, z):
        return self.affine(self.x / maximum(self.batch_std(), z))

    def gated(self, gate, std):
        return self.affine(self.x * gate / std)


def signed_sqrt(z):
    return np.sign(z.real) * np.sqrt(absolute(z) + 1e-5)


def s_top10(p):
    z = p.x / p.group_rms()
    return p.affine(z * sigmoid(maximum(p.x, z)))


LAYERS = {
    "bn-relu": lambda p: maximum(p.batch_norm(), 0.0),
    "bn-silu": lambda p: p.swish(p.batch_norm()),
    "gn-relu": lambda p: maximum(p.group_norm(), 0.0),
    "gn-silu": lambda p: p.swish(p.group_norm()),
    "ln-relu": lambda p: maximum(p.layer_norm(), 0.0),
    "frn": lambda p: maximum(p.filter_response(), p.v0),
    "pixelnorm-relu": lambda p: maximum(p.pixel_norm(), 0.0),
    "random": lambda p: p.affine(signed_sqrt(p.instance_std(sigmoid(absolute(p.x))))) + 0 * p.x,
    "random-rej": lambda p: p.affine(np.tanh(maximum(p.x, np.tanh(p.x)))),
    "rs-rej": lambda p: p.affine(maximum(p.x, 0.0) / p.batch_rms()),
    "evonorm-b0": lambda p: p.b_series(p.v1 * p.x + p.instance_std()),
    "evonorm-b1": lambda p: p.b_series((p.x + 1) * p.instance_rms()),
    "evonorm-b2": lambda p: p.b_series(p.instance_rms() - p.x),
    "evonorm-s0": lambda p: p.gated(sigmoid(p.v1 * p.x), p.group_std()),
    "evonorm-s1": lambda p: p.gated(sigmoid(p.x), p.group_std()),
    "evonorm-s2": lambda p: p.gated(sigmoid(p.x), p.group_rms()),
    "b0-no-v1x": lambda p: p.b_series(p.instance_std()),
    "b0-no-local": lambda p: p.affine(p.x / p.batch_std()),
    "b0-no-global": lambda p: p.affine(p.x / (p.v1 * p.x + p.instance_std())),
    "b0-add": lambda p: p.affine(p.x / (p.batch_std() + p.v1 * p.x + p.instance_std())),
    "b-top1": lambda p: p.b_series((p.x + 1) * p.instance_rms()),
    "b-top2": lambda p: p.b_series(p.x + p.layer_rms()),
    "b-top3": lambda p: p.gated(-sigmoid(p.x), p.batch_std()),
    "b-top4": lambda p: p.b_series(p.x * p.instance_rms()),
    "b-top5": lambda p: p.b_series(p.layer_rms() - p.x),
    "b-top6": lambda p: p.b_series(p.v1 * p.x + p.instance_std()),
    "b-top7": lambda p: p.b_series(p.instance_rms() - p.x),
    "b-top8": lambda p: p.b_series(p.x * p.instance_rms()),
    "b-top9": lambda p: p.b_series(p.x + p.instance_std()),
    "b-top10": lambda p: p.b_series(p.x + p.instance_std()),
    "s-top1": lambda p: p.gated(np.tanh(sigmoid(p.x)), p.group_rms()),
    "s-top2": lambda p: p.gated(sigmoid(p.x), p.group_rms()),
    "s-top3": lambda p: p.gated(sigmoid(p.x), p.group_rms()),
    "s-top4": lambda p: p.gated(sigmoid(p.x), p.group_rms()),
    "s-top5": lambda p: p.gated(sigmoid(p.x), p.group_std()),
    "s-top6": lambda p: p.gated(sigmoid(p.v1 * p.x), p.group_std()),
    "s-top7": lambda p: p.gated(sigmoid(p.x), p.group_std()),
    "s-top8": lambda p: p.gated(sigmoid(p.x), p.group_rms()),
    "s-top9": lambda p: p.gated(sigmoid(p.x), p.group_std()),
    "s-top10": s_top10,
}

# nonlinearity=False: these normalize without activating, every other layer is the plain affine.
WITHOUT_ACTIVATION = {
    "bn-relu": Paper.batch_norm,
    "bn-silu": Paper.batch_norm,
    "gn-relu": Paper.group_norm,
    "gn-silu": Paper.group_norm,
    "ln-relu": Paper.layer_norm,
    "frn": Paper.filter_response,
    "pixelnorm-relu": Paper.pixel_norm,
}


def layer_output(name, x, parameters, groups, eps=1e-5, moving=None, nonlinearity=True):
    """The layer's output for x (..., N, C, S); parameters maps gamma, beta, v0, v1 to arrays (..., 1, C, 1)."""
    call = Paper(x, **parameters, groups=groups, eps=eps, moving=moving)
    if nonlinearity:
        return LAYERS[name](call)
    return WITHOUT_ACTIVATION.get(name, lambda p: p.affine(p.x))(call)


def gradient(name, inputs, cotangent, chosen, **settings):
    """d sum(output * cotangent) / d inputs[which].flat[i] for each (which, i) in `chosen`, by complex steps."""
    batch = {key: np.repeat(value[None].astype(complex), len(chosen), 0) for key, value in inputs.items()}
    for row, (which, i) in enumerate(chosen):
        batch[which][row].reshape(-1)[i] += 1j * STEP
    x = batch.pop("x")
    output = layer_output(name, x, batch, **settings)
    return (output.imag / STEP * cotangent).sum((-3, -2, -1))
