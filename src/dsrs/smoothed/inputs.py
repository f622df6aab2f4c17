"""One input or many, as a program hands them over: told apart by their shape and their labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.certifying import whole
from dsrs.datasets import Dataset, as_array, dataset_of, is_collection
from dsrs.errors import ShapeNeeded


def one_or_many(
    x: Any, labels: Any, shape: tuple[int, ...] | None, bounds: tuple[float, float]
) -> NDArray[Any] | Dataset:
    """One input as an array, many as a dataset; what neither is, is handed on as one, to be told.

    Args:
        x: what was given.
        labels: the label of one, those of all, or None.
        shape: the shape of one input, where it is known.
        bounds: the units of the inputs.
    """
    if is_collection(x):
        return dataset_of(x, labels, bounds=bounds)
    values = as_array(x, "the input")
    if _are_many(values.shape, labels, shape):
        return dataset_of(values, labels, name="inputs", bounds=bounds)
    if values.dtype == np.uint8:
        # As data of bytes is read; refused where the units are others.
        return Dataset.from_arrays(values[None], name="the input", bounds=bounds).input(0)
    return values


def _are_many(given: tuple[int, ...], labels: Any, shape: tuple[int, ...] | None) -> bool:
    """Whether an array of shape `given` holds many inputs.

    Where their shape is open, labels tell it; else (n, channels, height, width) are many, and an
    image or a vector is one.
    """
    if shape is not None:
        grey = len(given) == len(shape) == 3 and shape[0] == 1 != given[0]
        return len(given) > len(shape) or (grey and given[1:] == shape[1:])
    if labels is not None:
        return whole(labels) is None
    if len(given) in (1, 3, 4):
        return len(given) == 4
    raise ShapeNeeded(
        f"an array of shape {given} may be one input or many; give `input_shape`, the shape of one "
        "input, to dsrs.smooth"
    )
