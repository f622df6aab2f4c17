""".npz archives and .npy arrays."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.datasets.arrays import UNIT_BOUNDS
from dsrs.datasets.dataset import Dataset
from dsrs.errors import DataError

IMAGE_NAMES = ("x", "X", "images", "data", "inputs")
LABEL_NAMES = ("y", "Y", "labels", "targets")

# What NumPy and its zip reader let through on damaged headers, sizes and members.
UNREADABLE = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    TypeError,
    SyntaxError,
    MemoryError,
    OverflowError,
    RuntimeError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def load_npz(
    path: Path, split: str = "test", *, bounds: tuple[float, float] = UNIT_BOUNDS
) -> Dataset:
    """Inputs under x, X, images, data or inputs; labels, if any, under y, Y, labels or targets.

    An archive with both splits names them x_train, x_test and so on; `split` chooses.
    """
    try:
        # np.load leaves a file open that it opened itself and cannot read.
        with path.open("rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise DataError(f"{path}: expected an .npz archive, got one array (.npy)")
            images = archive[_found(archive.files, IMAGE_NAMES, split, path)]
            key = _label_key(archive.files, split)
            labels = None if key is None else archive[key]
    except UNREADABLE as error:
        raise DataError(f"{path}: expected an .npz archive of plain arrays: {error}") from error
    return Dataset.from_arrays(images, labels, name=str(path), bounds=bounds)


def load_npy(
    path: Path,
    labels: Path | None = None,
    *,
    bounds: tuple[float, float] = UNIT_BOUNDS,
) -> Dataset:
    """One array of inputs, memory-mapped, with the labels in a second .npy file if given."""
    ids = None if labels is None else _array(labels)
    return Dataset.from_arrays(_array(path), ids, name=str(path), bounds=bounds)


def _array(path: Path) -> NDArray[Any]:
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except UNREADABLE as error:
        raise DataError(f"{path}: expected an .npy file of a plain array: {error}") from error
    if not isinstance(found, np.ndarray):
        found.close()
        raise DataError(f"{path}: expected one array (.npy), got an .npz archive")
    return found


def _found(names: list[str], usual: tuple[str, ...], split: str, path: Path) -> str:
    for name in usual:
        for candidate in (f"{name}_{split}", name):
            if candidate in names:
                return candidate
    raise DataError(
        f"{path}: expected inputs named {', '.join(usual)} (or with _{split}), "
        f"got {', '.join(names) or 'nothing'}"
    )


def _label_key(names: list[str], split: str) -> str | None:
    candidates = (form for name in LABEL_NAMES for form in (f"{name}_{split}", name))
    return next((candidate for candidate in candidates if candidate in names), None)
