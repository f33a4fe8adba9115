"""COCO's average precision of boxes and masks, by pycocotools, the published evaluator."""

import contextlib
import io
from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from evonorm.foundation import needs

Result = dict[str, Any]  # one found object as COCO's result files have it


def average_precisions(
    annotations: Path,
    results: Sequence[Result],
    kind: Literal["bbox", "segm"],
    pictures: Collection[int] | None = None,
) -> tuple[float, float, float]:
    """AP over the overlaps .50 to .95, AP at .50 and AP at .75, as in the paper's table, 0 to 1.

    Arguments:
        annotations: a COCO file of what is there, crowds included: what lies in a crowd is neither right nor wrong.
        results: what was found, in COCO's own form: image_id, category_id, score and bbox or segmentation.
        kind: "bbox" compares boxes, "segm" masks.
        pictures: the numbers of those that were looked at; all by default.

    Example: average_precisions(Path("instances_val2017.json"), json.load(open("results.json")), "segm")
    """
    with needs("coco", "COCO's average precision"):
        from pycocotools.cocoeval import COCOeval
    if not results:
        return 0.0, 0.0, 0.0
    with contextlib.redirect_stdout(io.StringIO()):  # it tells all of its steps
        truth = _truth(annotations)
        evaluation = COCOeval(truth, truth.loadRes([dict(each) for each in results]), kind)
        if pictures is not None:
            evaluation.params.imgIds = sorted(pictures)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    overall, half, three_quarters = (float(each) for each in evaluation.stats[:3])
    return overall, half, three_quarters


@lru_cache(maxsize=2)
def _truth(annotations: Path) -> Any:
    from pycocotools.coco import COCO

    return COCO(str(annotations))
