"""A layer as source code that a person can read and ship: torch and nothing else, numerically equal to `NormAct`.

Where evonorm can be imported after all, the layer runs on its kernels.
"""

import keyword
import re
from collections import Counter

from evonorm.graph import ATOM, INDEX_SETS, Graph, Node, Piece, Primitive, Template
from evonorm.layers import moving_names

RAW_MOMENTS = {"mean": "mean", "rms": "mean_square", "std": "variance"}

FUNCTIONS = {
    "per_channel": """
def per_channel(vector: Tensor, x: Tensor) -> Tensor:
    return vector.to(x.dtype).reshape(1, -1, *(1,) * (x.ndim - 2))
""",
    "mean": """
def mean(a: Tensor, axes: tuple[int, ...]) -> Tensor:
    return a.mean(axes, keepdim=True)
""",
    "mean_square": """
def mean_square(a: Tensor, axes: tuple[int, ...]) -> Tensor:
    return torch.square(a).mean(axes, keepdim=True)
""",
    "variance": """
def variance(a: Tensor, axes: tuple[int, ...]) -> Tensor:
    return torch.square(a - a.mean(axes, keepdim=True)).mean(axes, keepdim=True)
""",
    "over_group": '''
def over_group(moment: Callable[..., Tensor], a: Tensor, groups: int, axes: tuple[int, ...]) -> Tensor:
    """A moment over the channels of each group and these axes."""
    split = a.unflatten(1, (groups if a.shape[1] > 1 else 1, -1))
    raw = moment(split, (2, *(axis + (axis > 1) for axis in axes)))
    return raw.expand(-1, -1, split.shape[2], *raw.shape[3:]).flatten(1, 2)
''',
    "spatial": """
def spatial(a: Tensor) -> tuple[int, ...]:
    return tuple(range(2, a.ndim))
""",
}

MODULE = '''"""{title}

{origin}
Needs torch and nothing else. Put it where a model has a normalization and the activation behind it, and leave its
parameters out of weight decay.
"""

{imports}
try:  # where evonorm is installed, its kernel runs the same formula in a fraction of the time
    from evonorm.layers import run_exported
except ImportError:
    run_exported = None


class {name}(nn.Module):
    """y = {formula} * weight + bias

    Arguments:
        channels: C of the inputs (N, C, *spatial), which have zero to three spatial axes.
        nonlinearity: False gives `x * weight + bias`, for where a model has no activation.
        groups: for moments over (w,h,c/g); the largest divisor of `channels` that is not above it is taken.
        eps: inside the roots of the moments.
        momentum: weight of the new batch in the moving moments.
    """

    evonorm_formula = "{graph}"

    def __init__(
        self,
        channels: int,
        nonlinearity: bool = True,
        groups: int = 32,
        eps: float = 1e-5,
        momentum: float = 0.1,
    ) -> None:
        super().__init__()
        self.nonlinearity = nonlinearity
        self.groups = next(g for g in range(min(groups, channels), 0, -1) if channels % g == 0)
        self.eps = eps
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
{state}
    def forward(self, x: Tensor) -> Tensor:
        fast = run_exported(self, x) if run_exported is not None else None
        return self.plain(x) if fast is None else fast

    def plain(self, x: Tensor) -> Tensor:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))  # statistics never below fp32
        if x.ndim == 2:
            wide = wide.unsqueeze(-1)
        y = self.normalize(wide) if self.nonlinearity else wide
        y = y * per_channel(self.weight, wide) + per_channel(self.bias, wide)
        return y.expand(wide.shape).reshape(x.shape).to(x.dtype)

    def normalize(self, x: Tensor) -> Tensor:
{body}
{methods}
{functions}'''

OVER_BATCH = '''
    def over_batch(self, moment: Callable[[], Tensor], x: Tensor, name: str) -> Tensor:
        """The batch's moment in training, which the moving one follows; the moving one in evaluation."""
        moving = self.get_buffer(name)
        if not self.training:
            return per_channel(moving, x)
        raw = moment()
        if x.shape[0] > 0:
            with torch.no_grad():
                moving.mul_(1 - self.momentum).add_(self.momentum * raw.reshape(-1).to(moving.dtype))
        return raw
'''


def layer_source(graph: Graph, class_name: str, origin: str = "Written by evonorm.") -> str:
    """A Python module with the layer as one class; its state dict has the names and shapes of `NormAct`'s."""
    if not class_name.isidentifier() or keyword.iskeyword(class_name):
        raise ValueError(f"a class is named by a Python identifier, got {class_name!r}.")
    body = _body_lines(graph)
    code = MODULE.format(
        title=f"A normalization-activation layer: {graph} (then * gamma + beta).",
        origin=f"{origin[:1].upper()}{origin[1:].rstrip('.')}.",
        imports="{imports}",
        name=class_name,
        graph=graph,
        formula=graph if len(graph.live_nodes) == 1 else f"({graph})",
        state=_state_code(graph),
        body="\n".join(f"        {line}" for line in body),
        methods=OVER_BATCH if graph.batch_moments else "",
        functions="{functions}",
    )
    functions = _used_functions(code, {**FUNCTIONS, **_functions_of_primitives(graph)})
    imports = "import torch\nfrom torch import Tensor, nn\n"
    if "Callable" in code + functions:
        imports = f"from collections.abc import Callable\n\n{imports}"
    return code.replace("{imports}", imports).replace("{functions}", functions)


def _state_code(graph: Graph) -> str:
    lines = [
        f"self.{name} = nn.Parameter(torch.{'zeros' if name == 'v0' else 'ones'}(channels))"
        for name in ("v0", "v1")
        if graph.reads(name)
    ]
    for name in moving_names(graph):
        start = "zeros" if name.startswith("running_mean") else "ones"
        lines.append(f'self.register_buffer("{name}", torch.{start}(channels))')
    return "\n".join(["        if nonlinearity:", *(f"            {line}" for line in lines), ""]) if lines else ""


def _body_lines(graph: Graph) -> list[str]:
    """A line for each moment and each value that is used more than once; the rest is written in place."""
    uses = Counter(i for _, node in graph.live_nodes for i in _reads(node))
    moving = dict(zip(graph.batch_moments, moving_names(graph), strict=True))
    texts = {number: Piece(name, ATOM) for number, name in enumerate(("x", "zero", "v0", "v1"))}
    lines = ["zero = x.new_zeros((1,) * x.ndim)"] if graph.reads("0") else []
    for name in ("v0", "v1"):
        if graph.reads(name):
            lines.append(f"{name} = per_channel(self.{name}, x)")
    named: Counter[str] = Counter()

    def name_value(text: str, stem: str) -> str:
        named[stem] += 1
        name = stem if named[stem] == 1 else f"{stem}_{named[stem]}"
        lines.append(f"{name} = {text}")
        return name

    for number, node in graph.live_nodes:
        if node.primitive.aggregates:
            argument = texts[node.inputs[0]].text
            if not argument.isidentifier():
                argument = name_value(argument, "inner")
            texts[number] = Piece(name_value(_moment_text(node, argument, moving.get(number, "")), node.op), ATOM)
        else:
            written = _torch(node).fill([texts[i] for i in node.inputs], lambda text: f"({text})")
            texts[number] = Piece(name_value(written.text, "value"), ATOM) if uses[number] > 1 else written
    return [*lines, f"return {texts[graph.output].text}"]


def _torch(node: Node) -> Template:
    template = node.primitive.torch
    assert template is not None
    return template


def _reads(node: Node) -> list[int]:
    """The nodes that the text of this one mentions, as often as it does."""
    if node.primitive.aggregates:
        return list(node.inputs)
    return [i for place, i in enumerate(node.inputs) for _ in range(_torch(node).text.count(f"{{{place}}}"))]


def _moment_text(node: Node, argument: str, moving: str) -> str:
    raw = _raw_moment_text(node.primitive, argument)
    if node.primitive.needs_batch:
        raw = f'self.over_batch(lambda: {raw}, x, "{moving}")'
    return raw if node.primitive.moment == "mean" else f"torch.sqrt({raw} + self.eps)"


def _raw_moment_text(primitive: Primitive, argument: str) -> str:
    averaged, moment = INDEX_SETS[str(primitive.index_set)], RAW_MOMENTS[str(primitive.moment)]
    numbers = [number for axis, number in (("b", "0"), ("g", "1")) if axis in averaged.axes]
    spatial = f"spatial({argument})"
    if "s" not in averaged.axes:
        axes = f"({', '.join(numbers)}{',' if len(numbers) == 1 else ''})"
    else:
        axes = f"({', '.join(numbers)}, *{spatial})" if numbers else spatial
    if averaged.splits_channels:
        return f"over_group({moment}, {argument}, self.groups, {axes})"
    return f"{moment}({argument}, {axes})"


def _functions_of_primitives(graph: Graph) -> dict[str, str]:
    """The functions that primitives of the graph bring along, by name; two of one name must be the same."""
    found: dict[str, str] = {}
    for _, node in graph.live_nodes:
        for source in node.primitive.functions:
            name = _defined_name(source)
            if FUNCTIONS.get(name, found.setdefault(name, source)) != source:
                raise ValueError(
                    f"{node.op} calls a function {name!r}, and an exported layer has another one of this name."
                    " Register the primitive with a function of its own name."
                )
    return found


def _defined_name(source: str) -> str:
    definition = re.search(r"^def (\w+)\(", source, re.MULTILINE)
    assert definition is not None
    return definition[1]


def _used_functions(code: str, known: dict[str, str]) -> str:
    """The functions that the code calls, and those that these call."""
    used: list[str] = []
    waiting = [name for name in known if _mentions(code, name)]
    while waiting:
        name = waiting.pop(0)
        if name not in used:
            used.append(name)
            waiting += [other for other in known if other != name and _mentions(known[name], other)]
    return "\n".join(known[name] for name in known if name in used)


def _mentions(code: str, function: str) -> bool:
    """Whether the code calls the function or hands it on as a first argument."""
    return re.search(rf"(?<![\w.]){function}\(|\({function},", code) is not None
