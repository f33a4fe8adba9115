"""Other people's models: are positions found and converted right?

    python -m studies.convert.study              # what is kept
    FRESH=1 python -m studies.convert.study      # converts anew, minutes; goes on where it was stopped

Each model is looked at, compared with what was counted by hand, converted to EvoNorm-S0 behind the self-check, and
trained for three steps. One whose every position is BatchNorm and ReLU is also converted to `bn-relu`: it must say
what it said.
"""

import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from evonorm.conversion import Positions, SurgeryError, convert, positions
from evonorm.journal import Question
from evonorm.pictures import markdown_table
from studies.convert.models import MODELS, Case
from studies.kept_or_fresh import results

LAYER = "evonorm-s0"
STEPS = 3


def question_of(case: Case) -> Question:
    return {"what": "conversion", "library": case.library, "model": case.name, "layer": LAYER}


@dataclass(frozen=True)
class Result:
    """What came of one model.

    Attributes:
        with_activation, without_activation: how many normalizations there are of each.
        left: reasons for what was left alone, with how many there are of each.
        converted: how many became the layer, and how many the layer without activation.
        ended: "converted", "nothing to convert" or "self-check failed".
        same: the largest difference after conversion to `bn-relu`; None where that is not the same function.
        losses: of the converted model, step by step; empty if it was not converted.
    """

    with_activation: int
    without_activation: int
    left: dict[str, int]
    converted: tuple[int, int]
    ended: str
    same: float | None
    losses: tuple[float, ...]
    seconds: float


def work(case: Case) -> dict[str, Any]:
    begin = time.perf_counter()
    torch.manual_seed(0)
    model, example = case.build()
    found = positions(model, example)
    left: dict[str, int] = {}
    for row in found.with_action("leave alone"):
        left[row.why] = left.get(row.why, 0) + 1
    behind = sum(bool(row.activation) for row in found)
    same = difference_as_bn_relu(case) if is_bn_relu(found) else None
    try:
        convert(model, LAYER, example)
        ended = "converted"
    except SurgeryError:
        ended = "self-check failed"
    except ValueError as error:
        if "could be converted" not in str(error):
            raise
        ended = "nothing to convert"
    converted = [len(found.with_action(action)) for action in ("layer", "layer without activation")]
    return {
        "with_activation": behind,
        "without_activation": len(found) - behind,
        "left": left,
        "converted": converted if ended == "converted" else [0, 0],
        "ended": ended,
        "same": same,
        "losses": train(model, case.trained_with() if case.trained_with else example) if ended == "converted" else [],
        "seconds": time.perf_counter() - begin,
    }


def is_bn_relu(found: Positions) -> bool:
    """Whether `bn-relu` is the same function everywhere."""
    return any(row.activation for row in found) and all(
        row.norm.startswith("BatchNorm") and row.activation in ("relu", "") for row in found
    )


def difference_as_bn_relu(case: Case) -> float:
    torch.manual_seed(0)
    model, example = case.build()
    before = say(model.eval(), example)
    convert(model, "bn-relu", example)
    return max(float((a - b).abs().max()) for a, b in zip(before, say(model, example), strict=True))


@torch.no_grad()
def say(model: nn.Module, example: Any) -> list[Tensor]:
    return outputs_of(model, example)


def outputs_of(model: nn.Module, example: Any) -> list[Tensor]:
    if isinstance(example, dict):
        output = model(**example)
    else:
        output = model(*example) if isinstance(example, tuple) else model(example)
    return [each for each in tree_leaves(output) if isinstance(each, Tensor) and each.is_floating_point()]


def train(model: nn.Module, example: Any) -> list[float]:
    """A few steps towards fixed noise; the losses. Every parameter of a converted layer that ran has a gradient."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    losses = []
    for _ in range(STEPS):
        torch.manual_seed(1)
        outputs = [each for each in outputs_of(model, example) if each.requires_grad]
        loss = sum(((each - torch.randn_like(each)).square().mean() for each in outputs), torch.zeros(()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return losses


def converted(cases: Sequence[Case]) -> Iterator[tuple[Case, Result]]:
    """Every model, from the file where it is known."""
    kept = results("convert")
    kept.expect([question_of(case) for case in cases], "conversions")
    for case in cases:
        answer = kept.find(question_of(case))
        if answer is None:
            answer = work(case)
            kept.keep(question_of(case), answer)
            print(case.library, case.name, answer, flush=True)
        yield case, Result(**answer | {"losses": tuple(answer["losses"]), "converted": tuple(answer["converted"])})


COLUMNS = ("library", "model", "behind / none", "by hand", "converted", "left alone", "BN-ReLU", "loss, step 1 to 3")


def row(case: Case, result: Result) -> list[str]:
    reasons = "; ".join(f"{count}: {why}" for why, count in result.left.items())
    agreed = "" if case.counted is None else "agrees" if case.counted == counts(result) else f"{case.counted}"
    done = "{} + {} affine".format(*result.converted) if result.ended == "converted" else result.ended
    same = "" if result.same is None else "equal" if result.same == 0 else f"{result.same:.1g}"
    losses = f"{result.losses[0]:.3g} to {result.losses[-1]:.3g}" if result.losses else ""
    return [case.library, case.name, "{} / {}".format(*counts(result)), agreed, done, reasons, same, losses]


def counts(result: Result) -> tuple[int, int]:
    return result.with_activation, result.without_activation


def table(found: Sequence[tuple[Case, Result]]) -> str:
    return markdown_table(COLUMNS, [row(*each) for each in found])


def main() -> None:
    warnings.simplefilter("ignore")  # of other people's constructors
    logging.disable(logging.WARNING)
    print(table(list(converted(MODELS))))


if __name__ == "__main__":
    main()
