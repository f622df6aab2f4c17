"""Some inputs of a data set as a data set of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dsrs.datasets.arrays import fingerprint_of
from dsrs.datasets.dataset import Dataset, Images


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
