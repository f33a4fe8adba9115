"""What the evaluations of reproduce/validation.sh say: test accuracies, and differences to the references.

    python reproduce/validation.py docs/results/validation
    python reproduce/validation.py docs/results/validation --best "400 steps, constant"   # of those without a name

A difference has a 95 % interval by Student's t: the spread over seeds is pooled over all layers of the same recipe on
the same anchor, since two seeds of one layer say next to nothing about it.
"""

import argparse
import json
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scipy import stats

from evonorm.graph import CATALOG
from evonorm.pictures import markdown_table

REFERENCES = ("bn-relu", "evonorm-b0", "gn-silu", "evonorm-s0")
CONFIDENCE = 0.95

Accuracies = dict[str, dict[str, list[float]]]  # of a layer on an anchor, a value a seed


def read_outcomes(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The kept evaluations by what was asked: steps and schedule."""
    groups = defaultdict(list)
    for file in sorted(folder.glob("*/outcome.json")):
        record = json.loads(file.read_text())
        training = record["recipe"]["training"]
        groups[f"{training['steps']} steps, {training['schedule']} learning rate"].append(record)
    return groups


def accuracies_of(records: Sequence[dict[str, Any]], figure: str = "test_accuracy") -> Accuracies:
    """In %, of all that came to the end."""
    found: Accuracies = defaultdict(lambda: defaultdict(list))
    for record in records:
        for stage in record["outcome"]["stages"]:
            if stage["name"] == "training" and figure in stage["figures"]:
                found[record["layer"]][stage["anchor"]].append(100 * stage["figures"][figure])
    return found


def best_found(records: Sequence[dict[str, Any]]) -> str:
    """The layer without a name that is best on the validation pictures; test pictures choose nothing."""
    anchors = records[0]["recipe"]["anchors"]
    found = accuracies_of([each for each in records if each["layer"] not in CATALOG], "accuracy")
    return max(found, key=lambda layer: sum(statistics.fmean(found[layer][anchor] or [0.0]) for anchor in anchors))


def pooled_spread(samples: Sequence[Sequence[float]]) -> tuple[float, int]:
    """The standard deviation within samples and its degrees of freedom; (0, 0) where every sample is one value."""
    freedom = sum(len(each) - 1 for each in samples)
    squares = sum(statistics.variance(each) * (len(each) - 1) for each in samples if len(each) > 1)
    return ((squares / freedom) ** 0.5, freedom) if freedom else (0.0, 0)


def spreads_of(found: Accuracies, anchors: Sequence[str]) -> dict[str, tuple[float, int]]:
    return {anchor: pooled_spread([on[anchor] for on in found.values() if on[anchor]]) for anchor in anchors}


def difference(ours: Sequence[float], theirs: Sequence[float], spread: float, freedom: int) -> str:
    if not ours or not theirs:
        return "-"
    value = statistics.fmean(ours) - statistics.fmean(theirs)
    if not freedom:
        return f"{value:+.1f}"
    half = stats.t.ppf(0.5 + CONFIDENCE / 2, freedom) * spread * (1 / len(ours) + 1 / len(theirs)) ** 0.5
    return f"{value:+.1f} [{value - half:+.1f}, {value + half:+.1f}]"


def rows(found: Accuracies, anchors: Sequence[str]) -> list[list[str]]:
    """A row a layer, references first: mean and number of seeds on each anchor; then its differences to references."""
    spreads = spreads_of(found, anchors)
    table = []
    for layer, on in sorted(found.items(), key=lambda each: (each[0] not in REFERENCES, each[0])):
        table.append([f"`{layer}`", "test %", *(_mean(on[anchor]) for anchor in anchors)])
        table += [
            ["", f"less {name}", *(difference(on[a], found[name][a], *spreads[a]) for a in anchors)]
            for name in REFERENCES
            if name in found and name != layer
        ]
    return table


def _mean(values: Sequence[float]) -> str:
    return f"**{statistics.fmean(values):.1f}** (n = {len(values)})" if values else "-"


def not_finished(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Who was turned down on the way, and by what."""
    return [
        f"{record['layer']}, seed {record['seed']}: {record['outcome']['test']} on {record['outcome']['anchor']}"
        for record in records
        if record["outcome"]["kind"] == "rejected"
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--best", metavar="GROUP", help="only the best found layer of this group of evaluations")
    chosen = parser.parse_args()
    groups = read_outcomes(chosen.folder)
    if chosen.best:
        print(best_found(next(records for heading, records in groups.items() if heading.startswith(chosen.best))))
        return
    for heading, records in groups.items():
        found, anchors = accuracies_of(records), records[0]["recipe"]["anchors"]
        spreads = spreads_of(found, anchors)
        minutes = sum(stage["seconds"] for record in records for stage in record["outcome"]["stages"]) / 60
        print(f"## {heading} ({minutes:.0f} minutes)\n")
        print(markdown_table(["layer", "", *anchors], rows(found, anchors)))
        said = [f"{anchor} {spread:.2f} ({freedom})" for anchor, (spread, freedom) in spreads.items() if freedom]
        print("Spread over seeds, pooled (degrees of freedom): " + (", ".join(said) or "one seed each") + "\n")
        print("\n".join(not_finished(records)))


if __name__ == "__main__":
    main()
