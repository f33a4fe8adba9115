"""Labels of a validation folder without class folders, from the file that the data came with."""

import csv
from pathlib import Path

TINY, KAGGLE = "val_annotations.txt", "LOC_val_solution.csv"  # Tiny-ImageNet's, and that of ImageNet on Kaggle


def find_annotations(root: Path) -> Path | None:
    places = (root / "val" / TINY, root / TINY, root / "val" / KAGGLE, root / KAGGLE)
    return next((place for place in places if place.is_file()), None)


def read_annotations(path: Path) -> dict[str, str]:
    """The class of each photo, by its file name without extension."""
    with path.open(newline="", encoding="utf-8") as file:
        if path.name == TINY:  # name TAB class TAB box
            rows = [line.split("\t")[:2] for line in file if line.strip()]
        else:  # ImageId,PredictionString / name,"class x y w h class x y w h ..."
            rows = [[row[0], *row[1].split()[:1]] for row in list(csv.reader(file))[1:] if len(row) > 1]
    wrong = next((row for row in rows if len(row) != 2), None)
    if wrong is not None:
        raise ValueError(f"{path} has a line without a class, {wrong!r}: expected a photo's name and its class.")
    return {Path(name).stem: label.strip() for name, label in rows}
