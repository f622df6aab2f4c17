"""Hugging Face image data sets: Parquet files with the bytes of images and their labels.

A file, or a folder of the files of each split: data/test-00000-of-00002.parquet and so on. The
names of the classes are in the notes that the library `datasets` leaves in the file. Images are
read when asked for, a group of rows at a time.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.datasets.dataset import Dataset, checked_labels
from dsrs.datasets.image_files import Frame, ImagesInFiles, common_shape, header_of
from dsrs.errors import DataError, imported

IMAGE_COLUMNS = ("image", "img", "images", "picture", "pixel_values")
PARQUET_LABEL_COLUMNS = ("label", "labels", "fine_label", "coarse_label", "target", "class", "y")
# Names of a split in the names of its files, in the order in which they are looked for.
SPLIT_NAMES = {"test": ("test", "validation", "valid", "val"), "train": ("train", "training")}
GROUPS_KEPT = 4  # groups of rows in memory


def is_parquet_folder(folder: Path) -> bool:
    """Whether `folder` holds Parquet files, itself or in its folder `data`."""
    return any(_shards(folder))


def load_parquet(source: Path, split: str, frame: Frame) -> Dataset:
    """The images of a Parquet file, or of those files of a folder that are of the split."""
    files = [source] if source.is_file() else _files_of_split(source, split)
    first = _opened(files[0])
    image, label = _columns(first, files[0])
    digest = hashlib.sha256(f"parquet {frame}".encode())
    places: list[tuple[Path, int, int]] = []  # a file, a group of its rows, the row in the group
    names: list[str] = []
    headers: list[tuple[str, int, int]] = []
    labels: list[Any] = []
    for file in files:
        opened = _opened(file)
        if _columns(opened, file) != (image, label):
            raise DataError(f"{file}: expected the columns of {files[0].name}")
        for group in range(opened.num_row_groups):
            for row, content in enumerate(_group(file, group, image)):
                digest.update(f"{len(content)}\n".encode() + content)
                places.append((file, group, row))
                names.append(f"{file}, row {row} of group {group}")
                headers.append(header_of(names[-1], content))
            if label is not None:
                labels += opened.read_row_group(group, columns=[label])[label].to_pylist()
    if not places:
        raise DataError(f"{source}: expected rows with images, got none")
    shape = common_shape(headers, names, frame)
    ids = None if label is None else _labels(labels, str(source))
    digest.update(b"no labels" if ids is None else ids.astype("<i8").tobytes())
    remembered = functools.lru_cache(maxsize=GROUPS_KEPT)(_group)

    def content_of(index: int) -> bytes:
        file, group, row = places[index]
        return remembered(file, group, image)[row]

    return Dataset(
        images=ImagesInFiles(names, (len(names), *shape), frame, content_of),
        labels=ids,
        name=str(source),
        fingerprint=f"sha256:{digest.hexdigest()}",
        class_names=_class_names(first, label),
    )


def _labels(values: Sequence[Any], name: str) -> NDArray[np.int64] | None:
    """The labels; None where the set keeps them to itself, which Hugging Face writes as -1."""
    if all(value == -1 for value in values):
        return None
    if any(type(value) is not int for value in values):
        odd = next(value for value in values if type(value) is not int)
        raise DataError(f"{name}: expected labels that are whole numbers, got {odd!r}")
    return checked_labels(values, len(values), name)


def _shards(folder: Path) -> Iterator[Path]:
    for home in (folder, folder / "data"):
        yield from sorted(home.glob("*.parquet"))


def _files_of_split(folder: Path, split: str) -> list[Path]:
    """The files of the split, by their names; all files if none is named by a split."""
    files = list(_shards(folder))
    for name in SPLIT_NAMES[split]:
        own = [file for file in files if file.name.startswith((f"{name}-", f"{name}."))]
        if own:
            return own
    every = [f"{name}{end}" for names in SPLIT_NAMES.values() for name in names for end in "-."]
    if any(file.name.startswith(tuple(every)) for file in files):
        raise DataError(
            f"{folder}: expected files of the split {split!r}, such as {split}-00000.parquet, got "
            f"{', '.join(file.name for file in files[:4])}"
        )
    return files


def _columns(opened: Any, file: Path) -> tuple[str, str | None]:
    """The names of the columns of images and, if there is one, of labels."""
    schema = opened.schema_arrow
    image = next((name for name in IMAGE_COLUMNS if name in schema.names), None)
    kind = None if image is None else schema.field(image).type
    # The library `datasets` keeps an image as {bytes, path}; others as the bytes alone.
    inside = [] if kind is None else [kind.field(n).name for n in range(kind.num_fields)]
    if image is None or not ("bytes" in inside or "binary" in str(kind)):
        raise DataError(
            f"{file}: expected a column {', '.join(IMAGE_COLUMNS)} with the bytes of images, got "
            f"{', '.join(f'{field.name} ({field.type})' for field in schema)}"
        )
    return image, next((name for name in PARQUET_LABEL_COLUMNS if name in schema.names), None)


def _class_names(opened: Any, label: str | None) -> tuple[str, ...]:
    """The names that the library `datasets` keeps in the notes of a file."""
    notes = (opened.schema_arrow.metadata or {}).get(b"huggingface")
    try:
        features = json.loads(notes or b"{}").get("info", {}).get("features", {})
        return tuple(map(str, features.get(label, {}).get("names") or ()))
    except (ValueError, AttributeError):
        return ()


def _group(file: Path, group: int, column: str) -> tuple[bytes, ...]:
    """The bytes of the images in a group of rows."""
    try:
        rows = _opened(file).read_row_group(group, columns=[column])[column].to_pylist()
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: damaged: {str(error).partition(chr(10))[0]}") from error
    contents: list[Any] = [row.get("bytes") if isinstance(row, dict) else row for row in rows]
    for row, content in enumerate(contents):
        if not isinstance(content, bytes):
            raise DataError(
                f"{file}, row {row} of group {group}: expected the bytes of an image, got a path "
                "or nothing; save the data set with its images inside"
            )
    return tuple(contents)


def _opened(file: Path) -> Any:
    parquet = imported("pyarrow.parquet", "parquet")
    try:
        return parquet.ParquetFile(file)
    except (OSError, ValueError) as error:
        raise DataError(
            f"{file}: expected a Parquet file: {str(error).partition(chr(10))[0]}"
        ) from error
