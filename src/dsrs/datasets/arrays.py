"""Arrays at the door of a dataset: layout, range and labels checked once, then fingerprinted."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.classifiers import UNIT_BOUNDS
from dsrs.errors import DataError

CHANNELS = (1, 3)

# Bytes looked at in one go, so that a memory-mapped file is never held in memory as a whole.
CHUNK_BYTES = 1 << 24


def checked_images(images: ArrayLike, name: str, bounds: tuple[float, float]) -> NDArray[Any]:
    """Return `images` with the channel axis second, as a view if possible, or raise DataError."""
    images = as_array(images, name)
    if images.dtype != np.uint8 and not np.issubdtype(images.dtype, np.floating):
        raise DataError(
            f"{name}: inputs must be uint8 (0 to 255) or floats, got {images.dtype}; "
            "convert them with .astype"
        )
    if images.dtype == np.uint8 and bounds != UNIT_BOUNDS:
        raise DataError(
            f"{name}: uint8 inputs are read as [0, 1], so bounds {bounds} cannot hold; "
            "store floats to use other units"
        )
    if images.ndim < 2 or 0 in images.shape:
        raise DataError(
            f"{name}: expected inputs of shape (n, ...) with n >= 1 and no empty axis, "
            f"got shape {images.shape}"
        )
    arranged = _channels_first(images)
    if arranged.dtype != np.uint8:
        _check_range(arranged, name, bounds)
    return arranged


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Return `values` (an array, a tensor of any device, a list of numbers or of these) as an
    array."""
    if isinstance(values, np.ndarray):
        return values
    kind = type(values).__name__
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        # NumPy has no bfloat16; float32 holds all of its numbers.
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    if hasattr(values, "tensors"):
        raise DataError(
            f"{name}: expected an array, got {kind}; give its arrays one by one, such as "
            "Dataset.from_arrays(*data.tensors)"
        )
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"{name}: {kind} cannot be read as an array ({error}); give a NumPy array, for a "
            "PyTorch tensor tensor.detach().cpu().numpy()"
        ) from None


def checked_labels(labels: ArrayLike, size: int, name: str) -> NDArray[np.int64]:
    """Return `labels` as int64 class ids, one for each of `size` inputs, or raise DataError."""
    ids = as_array(labels, f"{name}, labels")
    # (n, 1) is how some archives keep a column of labels.
    ids = ids[:, 0] if ids.ndim == 2 and ids.shape[1] == 1 else ids
    if ids.ndim == 2 and len(ids) == size and _is_one_hot(ids):
        ids = ids.argmax(axis=1)
    if ids.shape != (size,):
        raise DataError(
            f"{name}: expected {size} labels, one for each input, got shape {ids.shape}"
        )
    if np.issubdtype(ids.dtype, np.floating):
        odd = ~(np.isfinite(ids) & (ids == np.rint(ids)) & (np.abs(ids) < 2**31))
        if odd.any():
            row = int(odd.argmax())
            raise DataError(f"{name}: labels must be whole numbers, got {ids[row]} at index {row}")
        ids = ids.astype(np.int64)
    if not np.issubdtype(ids.dtype, np.integer):
        raise DataError(f"{name}: labels must be integers, got {ids.dtype}")
    if ids.min() < 0:
        row = int(ids.argmin())
        raise DataError(f"{name}: labels must not be negative, got {ids[row]} at index {row}")
    if ids.max() > np.iinfo(np.int64).max:
        raise DataError(f"{name}: labels must fit int64, got {ids.max()}")
    return ids.astype(np.int64, copy=False)


def _is_one_hot(rows: NDArray[Any]) -> bool:
    """Whether each row is a 1 among zeros, at the place of its class."""
    if not (np.issubdtype(rows.dtype, np.number) or rows.dtype == np.bool_):
        return False
    return bool(((rows == 0) | (rows == 1)).all() and (rows.sum(axis=1) == 1).all())


def fingerprint_of(images: NDArray[Any], labels: NDArray[np.int64] | None) -> str:
    """Return the SHA-256 of type, shape and bytes in C order: one hash in any file format."""
    digest = hashlib.sha256(f"{images.dtype.newbyteorder('<').str}{images.shape}".encode())
    for part in _chunks(images):
        digest.update(_little_endian(part))
    digest.update(b"labels" if labels is not None else b"no labels")
    if labels is not None:
        digest.update(_little_endian(labels))
    return f"sha256:{digest.hexdigest()}"


def _channels_first(images: NDArray[Any]) -> NDArray[Any]:
    if images.ndim == 3:
        return images[:, None]
    if images.ndim == 4 and images.shape[3] in CHANNELS and images.shape[1] not in CHANNELS:
        return images.transpose(0, 3, 1, 2)
    return images


def _check_range(images: NDArray[Any], name: str, bounds: tuple[float, float]) -> None:
    lower, upper = bounds
    row = 0
    for part in _chunks(images):
        # Written so that a NaN fails as well.
        bad = ~((part >= lower) & (part <= upper))
        if bad.any():
            first = np.unravel_index(int(bad.argmax()), bad.shape)
            raise DataError(
                f"{name}: inputs must be numbers in [{lower:g}, {upper:g}], "
                f"got {part[first]} in input {row + int(first[0])}; "
                + _advice(float(part[first]), rows=images.ndim == 2)
            )
        row += len(part)


def _advice(value: float, rows: bool) -> str:
    """What to do about a value out of bounds, in rows of features or in images."""
    if not np.isfinite(value):
        return "replace what is missing, or leave these inputs out"
    if rows:
        return (
            "features that have units of their own need `scale` range (from Python: Dataset.scaled)"
            ", others their `bounds`"
        )
    if 1 < value <= 255:
        return (
            "pixels from 0 to 255 need `bounds` 0 255, or uint8, which is read as 0 to 1; other "
            "units need their own `bounds`"
        )
    return (
        "declare the `bounds` of the data; if it was normalised, undo that, and give the model "
        "`mean` and `std` instead"
    )


def _chunks(images: NDArray[Any]) -> list[NDArray[Any]]:
    rows = max(1, CHUNK_BYTES // images[0].nbytes)
    return [images[first : first + rows] for first in range(0, len(images), rows)]


def _little_endian(part: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(part, part.dtype.newbyteorder("<")).view(np.uint8).data
