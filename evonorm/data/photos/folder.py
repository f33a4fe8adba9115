"""A folder of photos in ImageNet's layout, opened: `train/CLASS/*` and `val/CLASS/*`, or a flat `val` with annotations.

Below a class folder photos may lie at any depth (Tiny-ImageNet: `train/CLASS/images/*`); what is no photo is ignored.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evonorm.data.photos.annotations import KAGGLE, TINY, find_annotations, read_annotations
from evonorm.data.photos.list_cache import KeptList, keep_list, kept_list
from evonorm.data.photos.photo_list import Photos, list_of
from evonorm.data.photos.scan import EXTENSIONS, Scan

LAYOUT = "expected train/CLASS/* and val/CLASS/* (or photos in val with an annotations file)"
Found = list[tuple[bytes, int, int]]  # path below the root, label, size


@dataclass(frozen=True, eq=False)
class PhotoFolder:
    """Labelled photos on a disk; a label is a place in `classes`, which are in the order of their names."""

    root: Path
    classes: tuple[str, ...]
    training: Photos
    validation: Photos


def open_photo_folder(root: Path) -> PhotoFolder:
    """Finds the photos below a folder; the list is kept, and used again as long as no folder has changed."""
    return _opened(root, "train and val", _scan_train_and_val)


def open_class_folder(root: Path) -> PhotoFolder:
    """The same for a folder of class folders without train and val: all photos are for training."""
    return _opened(root, "classes", _scan_classes_only)


def _opened(root: Path, layout: str, scan: Callable[[Scan], KeptList]) -> PhotoFolder:
    root = root.resolve()
    if not root.is_dir():
        raise ValueError(f"{root} is not a folder: {LAYOUT} in it. Name the folder that holds them.")
    kept = kept_list(root, layout)
    if kept is None:
        kept = scan(Scan(root))
        keep_list(layout, kept)
    everything, first = np.arange(len(kept.photos.labels)), kept.training
    training, validation = (Photos(kept.photos, rows) for rows in (everything[:first], everything[first:]))
    return PhotoFolder(root, kept.classes, training, validation)


def _scan_train_and_val(scan: Scan) -> KeptList:
    inside = scan.subfolders(".")
    for part in ("train", "val"):
        if part not in inside:
            there = ", ".join(inside[:5]) or "no folders"
            raise ValueError(
                f"{scan.root} has no folder {part}: {LAYOUT}, found {there}. Name the folder above {part}."
            )
    classes = _classes(scan, "train")
    training = _photos_of_classes(scan, "train", classes, classes)
    validation = _flat_validation(scan, classes) if _is_flat(scan, classes) else _validation_folders(scan, classes)
    return _kept(scan, classes, training, validation)


def _scan_classes_only(scan: Scan) -> KeptList:
    classes = _classes(scan, ".")
    return _kept(scan, classes, _photos_of_classes(scan, ".", classes, classes), [])


def _kept(scan: Scan, classes: list[str], training: Found, validation: Found) -> KeptList:
    photos = list_of(scan.root, training + validation)
    return KeptList(tuple(classes), photos, len(training), scan.folders)


def _classes(scan: Scan, part: str) -> list[str]:
    if classes := scan.subfolders(part):
        return classes
    raise ValueError(
        f"{scan.root / part} has no class folders: expected one folder per class with its photos. If there are archives"
        " (n01440764.tar ...), unpack each into a folder of its name."
    )


def _photos_of_classes(scan: Scan, part: str, folders: list[str], classes: list[str]) -> Found:
    labels = {name: label for label, name in enumerate(classes)}
    found: Found = []
    for name in folders:
        photos = scan.photos_in(f"{part}/{name}" if part != "." else name)
        if not photos:
            raise ValueError(
                f"{scan.root / part / name} holds no photos: expected files that end in {', '.join(EXTENSIONS)}, in any"
                " case. Remove the folder, or unpack its photos."
            )
        found += [(path.encode(errors="surrogateescape"), labels[name], size) for path, size in photos]
    return found


def _is_flat(scan: Scan, classes: list[str]) -> bool:
    """Photos lie in val itself, or in val/images and there is nothing else."""
    entries = scan.entries("val")
    if any(each.name.lower().endswith(EXTENSIONS) for each in entries):
        return True
    return [each.name for each in entries if each.is_dir()] == ["images"] and "images" not in classes


def _validation_folders(scan: Scan, classes: list[str]) -> Found:
    folders = _classes(scan, "val")
    if strange := sorted(set(folders) - set(classes)):
        raise ValueError(
            f"{scan.root / 'val'} has the class {strange[0]} ({len(strange)} such), which train does not have: expected"
            f" the same classes in both, train has {len(classes)} from {classes[0]} to {classes[-1]}. Add it there, or"
            " remove it here."
        )
    return _photos_of_classes(scan, "val", folders, classes)


def _flat_validation(scan: Scan, classes: list[str]) -> Found:
    path = find_annotations(scan.root)
    if path is None:
        raise ValueError(
            f"{scan.root / 'val'} has photos without class folders: expected {TINY} or {KAGGLE} there or in"
            f" {scan.root}, found neither. Copy it there, or sort the photos into folders."
        )
    scan.folders[path.relative_to(scan.root).as_posix()] = path.stat().st_mtime_ns
    annotated, labels = read_annotations(path), {name: label for label, name in enumerate(classes)}
    found: Found = []
    for name, size in scan.photos_in("val"):
        label = annotated.get(Path(name).stem)
        if label not in labels:
            problem = "has no line" if label is None else f"is of the class {label}, which train does not have"
            raise ValueError(f"{name} {problem} in {path}: expected a class of train for every photo in val.")
        found.append((name.encode(errors="surrogateescape"), labels[label], size))
    return found
