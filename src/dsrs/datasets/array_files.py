"""Files of arrays and tables: NumPy's .npz and .npy, CSV, and IDX."""

from __future__ import annotations

import csv
import math
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dsrs.datasets.dataset import Dataset
from dsrs.errors import DataError, InvalidInput
from dsrs.files import check_unpacked, unpacked_gzip

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


# ---- CSV files of tabular data: a line of names, then a row of numbers for each input

CSV_LABEL_COLUMNS = ("label", "class", "target", "y")
CSV_SUFFIXES = (".csv", ".tsv")
CSV_SEPARATORS = (",", ";", "\t")


def load_csv(path: Path, label_column: str | None, bounds: tuple[float, float]) -> Dataset:
    """The rows of a CSV file: features of numbers, and labels if a column has them.

    Args:
        path: A file with the names of the columns in its first line, separated by commas,
            semicolons or tabs.
        label_column: The column of the labels; by default one named label, class, target or y.
            Whole numbers are classes; other labels are numbered in the order of their names.
        bounds: The least and the greatest value of a feature.
    """
    names, rows = _read(path)
    label = _label_index(names, label_column, path)
    labels, classes = (None, ()) if label is None else _labels([row[label] for row in rows], path)
    kept = [column for column in range(len(names)) if column != label]
    if not kept:
        raise DataError(f"{path}: expected at least one column of numbers beside the labels")
    features = np.array(
        [
            [_number(row, column, names, line, path) for column in kept]
            for line, row in enumerate(rows, start=2)
        ]
    )
    return Dataset.from_arrays(
        features,
        labels,
        name=str(path),
        bounds=bounds,
        class_names=classes,
        feature_names=[names[column] for column in kept],
    )


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    """The names of the columns and the rows below."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            first = stream.readline()
            separator = max(CSV_SEPARATORS, key=first.count)
            stream.seek(0)
            rows = [row for row in csv.reader(stream, delimiter=separator) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read as CSV: {error}") from error
    if len(rows) < 2:
        raise DataError(f"{path}: expected a line of names and at least one row, got {len(rows)}")
    names = [name.strip() for name in rows[0]]
    if all(_is_number(name) for name in names):
        raise DataError(
            f"{path}: expected the names of the columns in the first line, got the numbers "
            f"{', '.join(names[:3])}; put a line of names above them"
        )
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{path}: the column {name!r} stands there twice")
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(names):
            raise DataError(
                f"{path}, line {line}: expected {len(names)} values, as the first line names, got "
                f"{len(row)}"
            )
    return names, rows[1:]


def _label_index(names: Sequence[str], wanted: str | None, path: Path) -> int | None:
    if wanted is not None and wanted not in names:
        raise InvalidInput(
            f"{path} has no column {wanted!r}; its columns are {', '.join(names[:8])}"
            + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        )
    candidates = CSV_LABEL_COLUMNS if wanted is None else (wanted,)
    return next((index for index, name in enumerate(names) if name in candidates), None)


def _labels(values: list[str], path: Path) -> tuple[NDArray[np.float64] | list[int], list[str]]:
    """The class of each row, and the names of the classes if they have any."""
    if any(not value.strip() for value in values):
        raise DataError(f"{path}: a row has no label; fill it in, or leave the row out")
    if all(_is_number(value) for value in values):
        return np.array([float(value) for value in values]), []
    names = sorted({value.strip() for value in values})
    numbers = {name: number for number, name in enumerate(names)}
    return [numbers[value.strip()] for value in values], names


def _number(row: list[str], column: int, names: list[str], line: int, path: Path) -> float:
    text = row[column].strip()
    if _is_number(text):
        return float(text)
    what = "nothing" if not text else repr(text)
    raise DataError(
        f"{path}, line {line}: expected a number in the column {names[column]!r}, got {what}; "
        "write categories as numbers and fill in what is missing, or name the column of the labels "
        "with `label_column`"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---- IDX files, plain or gzipped: the format of MNIST and Fashion-MNIST
# A file is a magic number (0, 0, type, number of axes), one big-endian uint32 for each axis, and
# the values in C order.

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
