"""What people write who come from torch, Python or TensorFlow, and how a formula says it."""

_OURS = {
    "relu": "max(x, 0)",
    "relu6": "max(x, 0) (there is no min)",
    "leaky_relu": "max(x, v1 * x)",
    "prelu": "max(x, v1 * x)",
    "silu": "x * sigmoid(x)",
    "swish": "x * sigmoid(v1 * x), or without v1",
    "gelu": "x * sigmoid(v1 * x), which is close to it",
    "softplus": "log(1 + exp(x)) (log is signed, see docs/formulas.md)",
    "min": "-max(-a, -b)",
    "minimum": "-max(-a, -b)",
    "maximum": "max(a, b)",
    "pow": "square(x), or x * x * x",
    "**": "square(x), or x * x * x",
    "^": "square(x), or x * x * x",
    "rsqrt": "1 / sqrt(x)",
    "ln": "log(x), which is signed: sign(x) * log(|x| + 1e-5)",
    "signed_log": "log(x): it is the signed one",
    "signed_sqrt": "sqrt(x): it is the signed one",
    "sign": "x / abs(x)",
    "neg": "-x",
    "add": "a + b",
    "mul": "a * b",
    "div": "a / b",
    "2": "1 + 1; what a net should choose is v0 or v1",
    "gamma": "nothing: every layer ends in * gamma + beta by itself",
    "beta": "nothing: every layer ends in * gamma + beta by itself",
    "eps": "nothing: roots, logarithms and divisions are guarded by themselves",
    "v": "v1, which starts at 1, or v0, which starts at 0",
}
_KINDS = {"var": "square(std_{0}(x))", "variance": "square(std_{0}(x))", "norm": "rms_{0}(x)"}
_SETS = "bwh (batch norm's), whc (layer norm's), wh (instance norm's) or whcg (group norm's)"


def spelled_here(word: str) -> str:
    """A sentence that tells how the language says what this word means elsewhere; empty if we don't know."""
    ours = _OURS.get(word) or _OURS.get(word.lower())
    kind, _, letters = word.lower().partition("_")
    if ours is not None:
        return f" Write {ours}."
    if kind in _KINDS:
        return f" Write {_KINDS[kind].format(letters or 'bwh')}."
    if word in ("mean", "std", "rms"):
        return f" Say over what: {word}_ and one of {_SETS}."
    return ""
