"""The entry points for data: what a program holds in memory, and what a path names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import UNIT_BOUNDS, checked_bounds
from dsrs.datasets.array_files import CSV_SUFFIXES as CSV_SUFFIXES
from dsrs.datasets.array_files import (
    is_idx_folder,
    load_csv,
    load_idx,
    load_idx_folder,
    load_npy,
    load_npz,
)
from dsrs.datasets.cifar import is_cifar_folder, load_cifar_file, load_cifar_folder
from dsrs.datasets.dataset import Dataset, as_array, checked_labels, fingerprint_of
from dsrs.datasets.image_files import (
    IMAGE_SUFFIXES,
    Frame,
    is_tiny_imagenet,
    load_image,
    load_image_folder,
    load_tiny_imagenet,
)
from dsrs.datasets.parquet_images import is_parquet_folder, load_parquet
from dsrs.errors import DataError, InvalidInput

# ---- Inputs that a program holds: arrays, tensors, the Dataset and the DataLoader of PyTorch

# What the inputs and the labels of a sample are called, where it has names.
INPUT_KEYS = ("pixel_values", "image", "images", "img", "x", "input", "inputs")
LABEL_KEYS = ("labels", "label", "y", "target", "targets")


def dataset_of(
    data: Any,
    labels: Any = None,
    *,
    name: str = "data",
    bounds: tuple[float, float] = UNIT_BOUNDS,
) -> Dataset:
    """The inputs and labels that a program holds, as one checked dataset in memory.

    Args:
        data: a `Dataset` of this package; an array or a tensor (n, ...); a list of inputs; or a
            Dataset or DataLoader of PyTorch, or another iterable, whose items are inputs, pairs of
            an input and a label, or mappings of both. A loader's items are batches of these.
        labels: the class of each input, where `data` does not hold them.
        name: what messages call the data.
        bounds: the least and the greatest value that an input may have.
    """
    if isinstance(data, Dataset):
        return data if labels is None else _labelled(data, labels)
    if is_collection(data):
        data, own = _gathered(data, name)
        if own is not None and labels is not None:
            raise DataError(f"{name}: the data holds labels already; give none beside it")
        labels = own if labels is None else labels
    return Dataset.from_arrays(as_array(data, name), labels, name=name, bounds=bounds)


def is_collection(data: Any) -> bool:
    """Whether `data` holds several inputs item by item: a Dataset, a DataLoader, an iterator."""
    if isinstance(data, np.ndarray):
        return False
    if isinstance(data, (str, bytes, Path, Mapping)) or data is None:
        raise DataError(
            f"expected inputs, got {data if isinstance(data, (str, Path)) else type(data).__name__}"
            "; give an array, a tensor, a Dataset or a DataLoader. Files are read by "
            "dsrs.datasets.load_dataset(path)"
        )
    if isinstance(data, Dataset):
        return True
    is_array = hasattr(data, "__array__") or hasattr(data, "__array_interface__")
    if isinstance(data, (list, tuple)) or is_array or np.isscalar(data):
        return False
    return hasattr(data, "__iter__") or hasattr(data, "__getitem__")


def _labelled(data: Dataset, labels: Any) -> Dataset:
    """The dataset with these labels instead of its own."""
    ids = checked_labels(labels, len(data), data.name)
    if not isinstance(data.images, np.ndarray):
        raise DataError(f"{data.name} reads its files when asked; load it with its labels")
    return replace(data, labels=ids, fingerprint=fingerprint_of(data.images, ids))


def _gathered(data: Any, name: str) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """All inputs of a collection as one array, and their labels, if it has some."""
    in_batches = hasattr(data, "batch_size") and hasattr(data, "dataset")  # a DataLoader
    inputs, labels = [], []
    for item in _items(data):
        x, label = _pair(item, name)
        inputs.append(as_array(x, name))
        labels.append(None if label is None else as_array(label, f"{name}, labels"))
    if not inputs:
        raise DataError(f"{name}: expected at least one input, got an empty {type(data).__name__}")
    join = np.concatenate if in_batches else np.stack
    known = [label for label in labels if label is not None]
    try:
        return join(inputs), join(known) if len(known) == len(labels) else None
    except ValueError:
        shapes = sorted({x.shape for x in inputs})[:3]
        raise DataError(
            f"{name}: inputs must have one shape, got {', '.join(map(str, shapes))}"
        ) from None


def _items(data: Any) -> Iterable[Any]:
    """The items of a collection; one with a length and `[i]` alone is asked for each number."""
    numbered = hasattr(data, "__len__") and not hasattr(data, "__iter__")
    return (data[number] for number in range(len(data))) if numbered else (item for item in data)


def _pair(item: Any, name: str) -> tuple[Any, Any]:
    """The input and the label of one item; None where it has no label."""
    if isinstance(item, Mapping):
        x, label = (
            next((item[key] for key in keys if key in item), None)
            for keys in (INPUT_KEYS, LABEL_KEYS)
        )
        if x is None:
            raise DataError(
                f"{name}: expected an item with one of {', '.join(INPUT_KEYS)}, got "
                f"{', '.join(map(str, item))}"
            )
        return x, label
    if isinstance(item, (list, tuple)) and 1 <= len(item) <= 2:
        return item[0], item[1] if len(item) == 2 else None
    return item, None


# ---- Data given by path: the name and the content say which format it is

SPLITS = ("test", "train")
# Kinds of data whose images are scaled and cropped as they are read.
FRAMED = ("image", "image folder", "tiny imagenet", "parquet")


def load_dataset(
    path: str | Path,
    split: str = "test",
    *,
    labels: str | Path | None = None,
    label_column: str | None = None,
    bounds: tuple[float, float] = UNIT_BOUNDS,
    size: int | None = None,
    crop: int | None = None,
    resample: str = "bilinear",
    stretch: bool = False,
) -> Dataset:
    """The dataset at `path`: arrays, CSV, IDX, CIFAR-10, TinyImageNet, Parquet or image files.

    Args:
        path: The file or folder.
        split: test or train, where the data has both.
        labels: A second file, for .npy, IDX and a folder of images.
        label_column: The column of the labels in a CSV file.
        bounds: The units of float arrays.
        size: Scale the shorter side of images to this and keep the middle square.
        crop: Keep the middle square of this many pixels, after `size` if both are given.
        resample: The filter of the scaling, such as bicubic.
        stretch: Scale both sides to `size`, whatever they were.
    """
    if split not in SPLITS:
        raise InvalidInput(f"`split` must be one of {', '.join(SPLITS)}, got {split!r}")
    source, ids = Path(path), None if labels is None else Path(labels)
    for given in (source, *(() if ids is None else (ids,))):
        if not given.exists():
            raise DataError(f"there is no file or folder {str(given)!r}")
    checked_bounds(bounds)
    asked = _Asked(split, ids, label_column, bounds, Frame(size, crop, resample, stretch))
    dataset = _loaded(source, asked)
    if dataset.bounds != bounds:
        raise InvalidInput(f"`bounds` are for float arrays; {source} holds bytes, read as [0, 1]")
    return dataset


def takes_frame(path: str | Path) -> bool:
    """Whether the data at `path` are images that are scaled and cropped as they are read."""
    return Path(path).exists() and _kind(Path(path)) in FRAMED


@dataclass(frozen=True)
class _Asked:
    """How the data is to be read."""

    split: str
    labels: Path | None
    label_column: str | None
    bounds: tuple[float, float]
    frame: Frame


def _loaded(source: Path, asked: _Asked) -> Dataset:
    kind = _kind(source)
    if asked.labels is not None and kind not in ("npy", "idx", "image folder"):
        raise InvalidInput(
            f"`labels` go with an .npy or IDX file or a folder of images, {source} is none of them"
        )
    if asked.label_column is not None and kind != "csv":
        raise InvalidInput(f"`label_column` is for a CSV file, got {source}")
    if asked.frame != Frame() and kind not in FRAMED:
        name = "crop" if asked.frame.size is None else "size"
        raise InvalidInput(f"`{name}` is for a folder of images or one image, got {source}")
    return LOADERS[kind](source, asked)


# How each kind of data is read.
LOADERS: dict[str, Callable[[Path, _Asked], Dataset]] = {
    "image": lambda source, asked: load_image(source, asked.frame),
    "image folder": lambda source, asked: load_image_folder(
        _split_folder(source, asked.split), asked.frame, asked.labels
    ),
    "tiny imagenet": lambda source, asked: load_tiny_imagenet(source, asked.split, asked.frame),
    "parquet": lambda source, asked: load_parquet(source, asked.split, asked.frame),
    "npz": lambda source, asked: load_npz(source, asked.split, asked.bounds),
    "npy": lambda source, asked: load_npy(source, asked.labels, asked.bounds),
    "csv": lambda source, asked: load_csv(source, asked.label_column, asked.bounds),
    "idx": lambda source, asked: load_idx(source, asked.labels),
    "idx folder": lambda source, asked: load_idx_folder(source, asked.split),
    "cifar": lambda source, asked: load_cifar_file(source),
    "cifar folder": lambda source, asked: load_cifar_folder(source, asked.split),
}


def _kind(source: Path) -> str:
    if source.is_dir():
        if is_idx_folder(source):
            return "idx folder"
        if is_tiny_imagenet(source):
            return "tiny imagenet"
        if is_parquet_folder(source):
            return "parquet"
        return "cifar folder" if is_cifar_folder(source) else "image folder"
    name = source.name.lower()
    if name.endswith((".npz", ".npy")):
        return name[-3:]
    if name.endswith((*CSV_SUFFIXES, ".parquet")):
        return "parquet" if name.endswith(".parquet") else "csv"
    if "idx" in name or name.endswith("ubyte"):
        return "idx"
    if name.endswith(".bin"):
        return "cifar"
    if name.endswith(IMAGE_SUFFIXES):
        return "image"
    raise DataError(
        f"{source}: not a known kind of data: expected .npz, .npy, .csv, .parquet, an IDX "
        "file (with idx in its name, also .gz), a CIFAR-10 .bin file, an image, or a folder"
    )


def _split_folder(folder: Path, split: str) -> Path:
    """Return `folder`/test or `folder`/train where the folder holds the splits, else the folder."""
    return folder / split if all((folder / each).is_dir() for each in SPLITS) else folder
