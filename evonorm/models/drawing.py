"""A text drawing of where the layers sit in a model, made from a run of the model itself."""

from itertools import groupby

from evonorm.models.forward_trace import Trace, TraceStep

NETS = {"generator": "G ", "discriminator": "D "}  # of a GAN

LEGEND = """\
[c] layer of c channels; (c) the same without nonlinearity; 3x3/2>c convolution with stride two to c channels, 2x2*2>c
the same upwards; dw depthwise; SEc squeeze-excite with c inner channels; + sum with the block's input or with {...},
the shortcut's convolution. Sizes are those of the map that leaves the line. In a GAN, G is the generator, whose blocks
have a gain and a bias per sample in each layer, D the discriminator; up and down change a map's size."""

DETECTOR_PLACES = {
    "backbone.pyramid": "pyramid",
    "backbone.endpoints": "pyramid",
    "rpn": "proposals",
    "roi_heads.box": "boxes",
    "roi_heads.mask": "masks",
}


def draw_positions(trace: Trace) -> str:
    """A line per block, equal neighbours merged, with the size of the map that leaves it."""
    rows: list[tuple[str, str, str, int]] = []
    for (place, _), steps in groupby(trace.steps, key=line_of):
        found = list(steps)
        text, size = " ".join(map(step_text, found)), map_size(found)
        if rows and "block" in place and rows[-1][1:3] == (text, size):
            rows[-1] = (*rows[-1][:3], rows[-1][3] + 1)
        else:
            rows.append((place, text, size, 1))
    wide = max(9, *(len(place) for place, *_ in rows))
    lines = [
        f"{place:<{wide}} {size:>7}  {f'{times} x ' if times > 1 else ''}{text}" for place, text, size, times in rows
    ]
    title = f"{trace.model}, images of {trace.image_size}x{trace.image_size}, {len(trace.layers)} layers"
    return "\n".join([title, *lines])


def map_size(steps: list[TraceStep]) -> str:
    last = [step for step in steps if step.height > 1 or step.width > 1 or step is steps[0]][-1]
    return f"{last.height}x{last.width}"


def line_of(step: TraceStep) -> tuple[str, int]:
    """What shares a line: a place, of those that have maps of many sizes one size."""
    place = place_of(step)
    return place, step.height if place in ("pyramid", "proposals") else 0


def place_of(step: TraceStep) -> str:
    for start, place in DETECTOR_PLACES.items():
        if step.path.startswith(start):
            return place
    net = NETS.get(step.path.split(".")[0], "")
    first, *rest = step.path.removeprefix("backbone.").split(".")[1 if net else 0 :]
    if first == "blocks":
        return f"{net}block {int(rest[0]) + 1}"
    if first == "attention":
        return f"{net}look"
    return f"{net}stem" if first in ("stem", "stem_layer", "pool") else f"{net}head"


def step_text(step: TraceStep) -> str:
    return f"{{{step.text}}}" if step.path.endswith(".shortcut") else step.text
