"""The record of a dataset: arrays checked once and fingerprinted, and the choice of its inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.classifiers import UNIT_BOUNDS, Classifier, Scaling
from dsrs.errors import DataError, InvalidInput
from dsrs.files import Readable

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


# ---- The record


class Images(Protocol):
    """An array, or what reads like one: inputs along the first axis, read when asked for."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...

    def __getitem__(self, index: int, /) -> Any: ...


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Readable):
    """Inputs of one shape, with or without labels.

    Attributes:
        images: an array of shape (n, *input_shape), channels first. It holds uint8, read as
            0..255 -> [0, 1], or floats that lie in `bounds`. It may be a memory map, or read files
            when indexed.
        labels: the class of each input, or None.
        name: what messages and runs call the data.
        fingerprint: a hash of the inputs and labels, whatever file they came from.
        bounds: the least and the greatest value that an input may have.
        class_names: the names of the classes, in their order.
        feature_names: the names of the features of tabular data, in their order.
        scaling: the units of each feature, if inputs are in scaled units.
    """

    images: Images
    labels: NDArray[np.int64] | None
    name: str
    fingerprint: str
    bounds: tuple[float, float] = UNIT_BOUNDS
    class_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    scaling: Scaling | None = None

    @classmethod
    def from_arrays(
        cls,
        images: ArrayLike,
        labels: ArrayLike | None = None,
        *,
        name: str = "arrays",
        bounds: tuple[float, float] = UNIT_BOUNDS,
        class_names: Sequence[str] = (),
        feature_names: Sequence[str] = (),
    ) -> Dataset:
        """A checked dataset; (n, H, W) and (n, H, W, channels) become (n, channels, H, W).

        Args:
            images: NumPy arrays or tensors of the CPU: uint8, or floats in `bounds`.
            labels: the class of each input, from 0, or None.
            name: what messages and runs call the data.
            bounds: the least and the greatest value that an input may have.
            class_names: the names of the classes, in their order.
            feature_names: the names of the features of tabular data, in their order.
        """
        checked = checked_images(images, name, bounds)
        ids = None if labels is None else checked_labels(labels, len(checked), name)
        names = (tuple(class_names), tuple(feature_names))
        return cls(checked, ids, name, fingerprint_of(checked, ids), bounds, *names)

    def __len__(self) -> int:
        return self.images.shape[0]

    def facts(self) -> dict[str, object]:
        """What a person wants to know first."""
        lower, upper = self.bounds
        classes = self.labels is not None and len(np.unique(self.labels))
        return {
            "name": self.name,
            "inputs": len(self),
            "shape": self.input_shape,
            "values": f"{self.images.dtype} in [{lower:g}, {upper:g}]",
            "labels": f"of {classes} classes" if classes else "none",
            "class names": ", ".join(self.class_names) or None,
        }

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return self.images.shape[1:]

    def input(self, index: int) -> NDArray[np.float32]:
        """Input `index` as contiguous float32; bytes become [0, 1]."""
        if not 0 <= index < len(self):
            raise InvalidInput(f"`index` must be in [0, {len(self)}), got {index}")
        image = np.asarray(self.images[index])
        if image.dtype == np.uint8:
            return np.ascontiguousarray(image, np.float32) / np.float32(255)
        return np.ascontiguousarray(image, np.float32)

    def label(self, index: int) -> int | None:
        """The label of input `index`, or None when the dataset has no labels."""
        if not 0 <= index < len(self):
            raise InvalidInput(f"`index` must be in [0, {len(self)}), got {index}")
        return None if self.labels is None else int(self.labels[index])

    def scaled(self, scaling: Scaling) -> Dataset:
        """This tabular data in scaled units; its fingerprint stays that of the data."""
        if len(self.input_shape) != 1 or not isinstance(self.images, np.ndarray):
            raise InvalidInput(
                f"{self.name}: a scaling is for rows of features, the inputs have the shape "
                f"{self.input_shape}"
            )
        rows = scaling.to_scaled(self.images, self.name)
        return replace(self, images=rows, bounds=scaling.bounds, scaling=scaling)

    def named_for(self, classifier: Classifier) -> Dataset:
        """This data for a model that may know its classes by name.

        Labels that have names of their own are numbered as the model numbers these names; data
        without names takes those of the model.
        """
        if len(self.class_names) > classifier.num_classes:
            raise DataError(
                f"{self.name}: expected names for {classifier.num_classes} classes, as many as the "
                f"classifier has, got {len(self.class_names)}"
            )
        return self.numbered_as(classifier.class_names) if classifier.class_names else self

    def numbered_as(self, class_names: Sequence[str]) -> Dataset:
        """This data with these names for its classes, in this order.

        Labels keep the names that they have in the data where all of those are among
        `class_names`, and their numbers otherwise.
        """
        names = tuple(class_names)
        numbers = {name.casefold(): number for number, name in enumerate(names)}
        places = [numbers.get(name.casefold(), -1) for name in self.class_names]
        if -1 in places and class_names and self.class_names:
            return self  # the names of the data are other ones: ids, or another language
        named = replace(self, class_names=names)
        if self.labels is None or places == list(range(len(places))):
            return named
        labels = np.array(places, dtype=np.int64)[self.labels]
        content = self.fingerprint.encode() + labels.astype("<i8").tobytes()
        return replace(
            named, labels=labels, fingerprint=f"sha256:{hashlib.sha256(content).hexdigest()}"
        )

    def check_fits(
        self,
        input_shape: tuple[int, ...],
        num_classes: int,
        bounds: tuple[float, float] = UNIT_BOUNDS,
    ) -> None:
        """Raise DataError unless a classifier can take these inputs and labels.

        Args:
            input_shape: the shape of the classifier's inputs.
            num_classes: how many classes it has.
            bounds: the least and the greatest value of its inputs.
        """
        if self.input_shape != tuple(input_shape):
            raise DataError(
                f"{self.name}: the classifier takes inputs of shape {tuple(input_shape)}, "
                f"the data has {self.input_shape}"
            )
        if self.labels is not None and self.labels.max() >= num_classes:
            row = int(self.labels.argmax())
            raise DataError(
                f"{self.name}: the classifier has {num_classes} classes, so labels must be "
                f"from 0 to {num_classes - 1}, got {self.labels[row]} at index {row}"
            )
        if self.bounds != tuple(bounds):
            raise DataError(
                f"{self.name}: the classifier takes inputs in [{bounds[0]:g}, {bounds[1]:g}], "
                f"the data is in [{self.bounds[0]:g}, {self.bounds[1]:g}]; "
                "declare the same bounds for both, or rescale one"
            )


def select(
    dataset: Dataset,
    start: int = 0,
    stop: int | None = None,
    skip: int = 1,
    indices: Sequence[int] | NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Return the indices of the chosen inputs: every `skip`-th from `start` on, or `indices`.

    Args:
        dataset: the data to choose from.
        start: the first index.
        stop: the index after the last one; it may lie past the end, as in a slice.
        skip: the step from index to index.
        indices: the indices themselves, in their order, instead of the other three.
    """
    size = len(dataset)
    if indices is not None:
        if (start, stop, skip) != (0, None, 1):
            raise InvalidInput("give either `indices` or `start`, `stop` and `skip`, not both")
        return _explicit(indices, size)
    if skip < 1:
        raise InvalidInput(f"`skip` must be at least 1 (every input), got {skip}")
    if not 0 <= start < size:
        raise InvalidInput(f"`start` must be in [0, {size}) for {size} inputs, got {start}")
    if stop is not None and stop <= start:
        raise InvalidInput(f"`stop` must be greater than `start` = {start}, got {stop}")
    return np.arange(start, size if stop is None else min(stop, size), skip, dtype=np.int64)


def _explicit(indices: Sequence[int] | NDArray[np.int64], size: int) -> NDArray[np.int64]:
    chosen = np.asarray(indices)
    if chosen.ndim != 1 or not len(chosen) or not np.issubdtype(chosen.dtype, np.integer):
        raise InvalidInput(f"`indices` must be a list of at least one integer, got {indices!r}")
    outside = chosen[(chosen < 0) | (chosen >= size)]
    if len(outside):
        raise InvalidInput(f"`indices` must be in [0, {size}), got {int(outside[0])}")
    values, counts = np.unique(chosen, return_counts=True)
    if len(values) < len(chosen):
        repeated = int(values[counts > 1][0])
        raise InvalidInput(f"`indices` must differ from each other, got {repeated} twice")
    return chosen.astype(np.int64)


# ---- Some inputs of a data set as a data set of their own


@dataclass(frozen=True)
class SomeImages:
    """Reads like an array of some images of what is read when it is asked.

    Attributes:
        images: all images.
        rows: the numbers of those that are meant.
    """

    images: Images
    rows: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.rows), *self.images.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.images.dtype

    def __getitem__(self, index: int, /) -> Any:
        """The image of this number among the chosen ones."""
        return self.images[self.rows[index]]


def some_inputs(dataset: Dataset, rows: Sequence[int]) -> Dataset:
    """The data set of these inputs alone, in this order."""
    chosen = np.asarray(rows, dtype=np.int64)
    labels = None if dataset.labels is None else dataset.labels[chosen]
    images: Images
    if isinstance(dataset.images, np.ndarray):
        images = dataset.images[chosen]
        fingerprint = fingerprint_of(images, labels)
    else:
        images = SomeImages(dataset.images, tuple(map(int, chosen)))
        content = dataset.fingerprint.encode() + chosen.astype("<i8").tobytes()
        fingerprint = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return replace(dataset, images=images, labels=labels, fingerprint=fingerprint)
