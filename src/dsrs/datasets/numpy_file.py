"""Reading .npz archives and .npy arrays."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dsrs.datasets.dataset import Dataset
from dsrs.errors import DataError
from dsrs.files import check_unpacked

IMAGE_NAMES = ("x", "X", "images", "data", "inputs")
ZIP_MAGIC, NUMPY_MAGIC = b"PK", b"\x93NUMPY"
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


def load_npz(path: Path, split: str, bounds: tuple[float, float]) -> Dataset:
    """Inputs under x, X, images, data or inputs; labels, if any, under y, Y, labels or targets.

    An archive with both splits names them x_train, x_test and so on; `split` chooses.
    """
    try:
        # np.load leaves a file open that it opened itself and cannot read.
        with path.open("rb") as stream:
            _refuse_other_files(stream, "an .npz archive", path)
            archive = np.load(stream, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise DataError(f"{path}: expected an .npz archive, got one array (.npy)")
            key, label_key = (
                _found(archive.files, names, split) for names in (IMAGE_NAMES, LABEL_NAMES)
            )
            if key is None:
                raise DataError(
                    f"{path}: expected inputs named {', '.join(IMAGE_NAMES)} (or with _{split}), "
                    f"got {', '.join(archive.files) or 'nothing'}"
                )
            _check_size(stream, {key, label_key}, path)
            images = archive[key]
            labels = None if label_key is None else archive[label_key]
    except UNREADABLE as error:
        raise DataError(
            f"{path}: expected an .npz archive of plain arrays: {_reason(error)}"
        ) from None
    return Dataset.from_arrays(images, labels, name=str(path), bounds=bounds)


def load_npy(path: Path, labels: Path | None, bounds: tuple[float, float]) -> Dataset:
    """One array of inputs, memory-mapped, with the labels in a second .npy file if given."""
    ids = None if labels is None else _array(labels)
    return Dataset.from_arrays(_array(path), ids, name=str(path), bounds=bounds)


def _array(path: Path) -> NDArray[Any]:
    try:
        with path.open("rb") as stream:
            _refuse_other_files(stream, "an .npy file", path)
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except UNREADABLE as error:
        raise DataError(
            f"{path}: expected an .npy file of a plain array: {_reason(error)}"
        ) from None
    if not isinstance(array, np.ndarray):
        array.close()
        raise DataError(f"{path}: expected one array (.npy), got an .npz archive")
    return array


def _refuse_other_files(stream: BinaryIO, expected: str, path: Path) -> None:
    """Raise unless the file begins as NumPy's own files do; NumPy takes all others for pickles."""
    start = stream.read(len(NUMPY_MAGIC))
    stream.seek(0)
    if not start.startswith(ZIP_MAGIC) and start != NUMPY_MAGIC:
        raise DataError(f"{path}: expected {expected}, but the file begins with {start!r}")


def _check_size(stream: BinaryIO, names: set[str | None], path: Path) -> None:
    """Refuse an archive whose wanted arrays unfold to far more than they take on disk."""
    place = stream.tell()
    with zipfile.ZipFile(stream) as archive:
        wanted = [e for e in archive.infolist() if e.filename.removesuffix(".npy") in names]
    stream.seek(place)
    packed, unpacked = (
        sum(getattr(entry, size) for entry in wanted) for size in ("compress_size", "file_size")
    )
    check_unpacked(packed, unpacked, str(path))


def _reason(error: BaseException) -> str:
    """What is wrong, without NumPy's advice to read pickles all the same."""
    if "pickle" in str(error) or "Python objects" in str(error):
        return (
            "it holds Python objects, which could run code when they are read, so they are never "
            "opened; save numbers, such as images.astype('float32')"
        )
    return str(error)


def _found(names: list[str], usual: tuple[str, ...], split: str) -> str | None:
    candidates = (form for name in usual for form in (f"{name}_{split}", name))
    return next((candidate for candidate in candidates if candidate in names), None)
