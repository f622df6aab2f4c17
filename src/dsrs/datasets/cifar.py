"""CIFAR-10 in its binary and its Python version.

The binary one has records of one label byte and 3 x 32 x 32 bytes; the Python one, which
torchvision downloads, pickles of an array of such rows and a list of labels.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.datasets.array_pickle import read_array_pickle
from dsrs.datasets.dataset import Dataset
from dsrs.errors import DataError

CIFAR_SHAPE = (3, 32, 32)
RECORD = 1 + 3 * 32 * 32
CLASS_NAMES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
BATCHES = {"train": "data_batch_*", "test": "test_batch*"}


PYTHON_FOLDER = "cifar-10-batches-py"  # as the archive unpacks


def is_cifar_folder(folder: Path) -> bool:
    """Whether `folder` holds CIFAR-10 batches, or the folder of them that torchvision makes."""
    return (folder / PYTHON_FOLDER).is_dir() or any(
        next(folder.glob(pattern), None) for pattern in BATCHES.values()
    )


def load_cifar_folder(folder: Path, split: str) -> Dataset:
    """The `split` of a folder with five batches of training images and one of test images."""
    home = folder / PYTHON_FOLDER if (folder / PYTHON_FOLDER).is_dir() else folder
    binary = sorted(home.glob(f"{BATCHES[split]}.bin"))
    if binary:
        return _dataset([_records(path) for path in binary], str(folder))
    batches = sorted(path for path in home.glob(BATCHES[split]) if not path.suffix)
    if batches:
        return _dataset([_unpickled(path) for path in batches], str(folder))
    raise DataError(
        f"{folder}: expected the batches {BATCHES[split]} of CIFAR-10, in the binary version "
        "(.bin) or in the Python version (no suffix)"
    )


def load_cifar_file(path: Path) -> Dataset:
    """One .bin file of CIFAR-10."""
    return _dataset([_records(path)], str(path))


def _dataset(parts: list[NDArray[np.uint8]], name: str) -> Dataset:
    # A single file stays a memory map.
    records = parts[0] if len(parts) == 1 else np.concatenate(parts)
    images = records[:, 1:].reshape(-1, *CIFAR_SHAPE)
    return Dataset.from_arrays(images, records[:, 0], name=name, class_names=CLASS_NAMES)


def _unpickled(path: Path) -> NDArray[np.uint8]:
    """A batch of the Python version as records of the binary one."""
    batch = read_array_pickle(path)
    rows, labels = batch.get("data"), batch.get("labels")
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.shape[1] != RECORD - 1:
        raise DataError(f"{path}: expected an array `data` of rows of {RECORD - 1} bytes")
    if not isinstance(labels, list) or len(labels) != len(rows) or not _are_labels(labels):
        raise DataError(f"{path}: expected a list `labels` of {len(rows)} numbers from 0 to 9")
    return np.column_stack([np.asarray(labels, np.uint8), rows])


def _are_labels(labels: Any) -> bool:
    """Whether this is a list of classes of CIFAR-10."""
    known = range(len(CLASS_NAMES))
    return isinstance(labels, list) and all(type(each) is int and each in known for each in labels)


def _records(path: Path) -> NDArray[np.uint8]:
    try:
        size = path.stat().st_size
        if size == 0 or size % RECORD:
            raise DataError(
                f"{path}: expected CIFAR-10 records of {RECORD} bytes each, got {size} bytes; "
                "the file is truncated or not the binary version"
            )
        records = np.memmap(path, np.uint8, "r").reshape(-1, RECORD)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    if records[:, 0].max() >= len(CLASS_NAMES):
        row = int(records[:, 0].argmax())
        raise DataError(
            f"{path}: labels must be from 0 to 9, got {records[row, 0]} in record {row}; "
            "the file is not CIFAR-10"
        )
    return records
