"""IDX files, plain or gzipped: the format of MNIST and Fashion-MNIST.

A file is a magic number (0, 0, type, number of axes), one big-endian uint32 for each axis, and
the values in C order.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dsrs.datasets.dataset import Dataset
from dsrs.errors import DataError
from dsrs.files import unpacked_gzip

UNSIGNED_BYTE = 0x08
IDX_PREFIXES = {"train": "train", "test": "t10k"}


def load_idx_folder(folder: Path, split: str) -> Dataset:
    """The `split` of a folder with train-images-idx3-ubyte, t10k-labels-idx1-ubyte and so on."""
    return load_idx(_member(folder, split, "images"), _member(folder, split, "labels"))


def load_idx(images: Path, labels: Path | None = None) -> Dataset:
    """One IDX file of images, with its labels.

    Without `labels`, the file beside it whose name says labels-idx1 for images-idx3 is taken,
    if there is one.
    """
    beside = labels or _labels_beside(images)
    ids = None if beside is None else read_idx(beside, axes=1)
    return Dataset.from_arrays(read_idx(images, axes=3), ids, name=str(images))


def is_idx_folder(folder: Path) -> bool:
    """Whether `folder` holds IDX images of some split."""
    return any(_candidates(folder, split, "images") for split in IDX_PREFIXES)


def read_idx(path: Path, axes: int) -> NDArray[np.uint8]:
    """The array of unsigned bytes in an IDX file, which must have `axes` axes."""
    values = _bytes_of(path)
    size = 4 + 4 * axes
    magic = values[:4].tolist()
    if magic != [0, 0, UNSIGNED_BYTE, axes]:
        raise DataError(
            f"{path}: expected an IDX file of unsigned bytes with {axes} axes, which starts with "
            f"{[0, 0, UNSIGNED_BYTE, axes]}, got {magic}"
        )
    shape = (
        tuple(int(length) for length in values[4:size].view(">u4")) if len(values) >= size else ()
    )
    expected = size + math.prod(shape)
    if len(values) != expected:
        raise DataError(
            f"{path}: expected {expected} bytes for shape {shape}, got {len(values)}; "
            "the file is truncated or damaged"
        )
    return values[size:].reshape(shape)


def _bytes_of(path: Path) -> NDArray[np.uint8]:
    try:
        if path.suffix == ".gz":
            return np.frombuffer(unpacked_gzip(path.read_bytes(), str(path)), np.uint8)
        if path.stat().st_size == 0:
            raise DataError(f"{path}: the file is empty")
        return np.memmap(path, np.uint8, "r")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def _member(folder: Path, split: str, kind: str) -> Path:
    files = _candidates(folder, split, kind)
    if not files:
        raise DataError(
            f"{folder}: expected a file {IDX_PREFIXES[split]}-{kind}-* for split {split!r}"
        )
    return files[0]


def _candidates(folder: Path, split: str, kind: str) -> list[Path]:
    # Both t10k-images-idx3-ubyte and t10k-images.idx3-ubyte are about; plain before gzipped.
    return sorted(
        folder.glob(f"{IDX_PREFIXES[split]}-{kind}[-.]idx*"), key=lambda each: len(each.name)
    )


def _labels_beside(images: Path) -> Path | None:
    name = images.name.replace("images", "labels").replace("idx3", "idx1")
    beside = images.with_name(name)
    return beside if name != images.name and beside.is_file() else None
