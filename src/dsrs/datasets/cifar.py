"""CIFAR-10 in its binary version: records of one label byte and 3 x 32 x 32 bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dsrs.datasets.dataset import Dataset
from dsrs.errors import DataError

SHAPE = (3, 32, 32)
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


def is_cifar_folder(folder: Path) -> bool:
    """Whether `folder` holds CIFAR-10 batches, readable or not."""
    return any(next(folder.glob(pattern), None) for pattern in BATCHES.values())


def load_cifar_folder(folder: Path, split: str = "test") -> Dataset:
    """The `split` of a folder with data_batch_1.bin to data_batch_5.bin and test_batch.bin."""
    files = sorted(folder.glob(f"{BATCHES[split]}.bin"))
    if not files:
        raise DataError(
            f"{folder}: expected {BATCHES[split]}.bin, the binary version of CIFAR-10 "
            "(cifar-10-binary.tar.gz); the Python version is a pickle, which could run code "
            "when it is read, so it is never opened"
        )
    return _dataset(files, str(folder))


def load_cifar_file(path: Path) -> Dataset:
    """One .bin file of CIFAR-10."""
    return _dataset([path], str(path))


def _dataset(files: list[Path], name: str) -> Dataset:
    parts = [_records(path) for path in files]
    # A single file stays a memory map.
    records = parts[0] if len(parts) == 1 else np.concatenate(parts)
    images = records[:, 1:].reshape(-1, *SHAPE)
    return Dataset.from_arrays(images, records[:, 0], name=name, class_names=CLASS_NAMES)


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
