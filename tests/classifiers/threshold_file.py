"""A kind of model that the package does not know: a text file with one threshold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Adapter, Classifier, ModelOptions, by_suffix, from_callable
from dsrs.errors import ClassifierError


def load(name: str, options: ModelOptions) -> Classifier:
    """Class 1 where the mean of an input is above the number in the file."""
    if options.input_shape is None:
        raise ClassifierError(f"{name} does not say its input shape; give `input_shape`")
    threshold = float(Path(name).read_text())

    def forward(batch: NDArray[np.float32]) -> NDArray[np.int64]:
        return np.asarray(batch.reshape(len(batch), -1).mean(axis=1) > threshold, dtype=np.int64)

    return from_callable(
        forward, options.input_shape, 2, bounds=options.bounds, name=Path(name).name
    )


ADAPTER = Adapter("net.threshold", by_suffix(".threshold"), load)
