"""A planted router and experts, as functions that the command line can load."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Classifier, from_callable

BOUNDS = (-4.0, 4.0)
Batch = NDArray[np.float32]


def model(name: str, axis: int, border: float = 0.0) -> Classifier:
    """Class 1 where one value is above a border, class 0 elsewhere."""

    def forward(batch: Batch) -> NDArray[np.int64]:
        return (batch[:, axis] > border).astype(np.int64)

    return from_callable(forward, (4,), num_classes=2, bounds=BOUNDS, fingerprint=name)


def router() -> Classifier:
    return model("router", 0)


def other_router() -> Classifier:
    return model("another router", 2)


def expert() -> Classifier:
    return model("expert", 1)


def unsteady() -> Classifier:
    """An expert that answers another class far out along the router's axis."""

    def forward(batch: Batch) -> NDArray[np.int64]:
        return ((batch[:, 1] > 0) ^ (batch[:, 0] > 1.5)).astype(np.int64)

    return from_callable(forward, (4,), num_classes=2, bounds=BOUNDS, fingerprint="unsteady")


def router_of_three() -> Classifier:
    """Expert 0 below -0.2 of the first value, expert 1 up to 1, expert 2 above."""

    def forward(batch: Batch) -> NDArray[np.int64]:
        return np.digitize(batch[:, 0], [-0.2, 1.0]).astype(np.int64)

    return from_callable(forward, (4,), num_classes=3, bounds=BOUNDS, fingerprint="three")
