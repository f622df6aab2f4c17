"""Inputs that a program holds: arrays, tensors, the Dataset and the DataLoader of PyTorch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import UNIT_BOUNDS
from dsrs.datasets.arrays import as_array, checked_labels, fingerprint_of
from dsrs.datasets.dataset import Dataset
from dsrs.errors import DataError

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
