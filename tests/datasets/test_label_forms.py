"""Labels as other programs keep them: floats that are whole, and one-hot rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.datasets import Dataset
from dsrs.errors import DataError

IMAGES = np.zeros((3, 2, 2), np.uint8)
ONE_HOT = np.eye(4)[[2, 0, 3]]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array([2.0, 0.0, 3.0]), [2, 0, 3]),
        (ONE_HOT, [2, 0, 3]),
        (ONE_HOT.astype(np.uint8), [2, 0, 3]),
        (ONE_HOT.astype(bool), [2, 0, 3]),
        (np.array([[2], [0], [3]]), [2, 0, 3]),
    ],
)
def test_every_form_gives_the_same_classes(
    labels: NDArray[np.float64], expected: list[int]
) -> None:
    found = Dataset.from_arrays(IMAGES, labels)
    assert found.labels is not None
    assert found.labels.tolist() == expected
    assert found.fingerprint == Dataset.from_arrays(IMAGES, expected).fingerprint


@pytest.mark.parametrize("labels", [ONE_HOT * 0.5, np.zeros((3, 4)), np.ones((3, 4)), ONE_HOT[:2]])
def test_rows_that_name_no_class_are_refused(labels: NDArray[np.float64]) -> None:
    with pytest.raises(DataError, match="one for each input"):
        Dataset.from_arrays(IMAGES, labels)
