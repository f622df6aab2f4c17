"""Fitted scikit-learn classifiers, on flattened inputs."""

from __future__ import annotations

import hashlib
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.base import UNIT_BOUNDS, checked_shape
from dsrs.classifiers.callable import CallableClassifier, from_callable, remembered
from dsrs.errors import ClassifierError


@remembered
def from_sklearn(
    estimator: Any,
    input_shape: tuple[int, ...] | None = None,
    *,
    bounds: tuple[float, float] = UNIT_BOUNDS,
    name: str | None = None,
) -> CallableClassifier:
    """A classifier from a fitted estimator with `predict` and `classes_`.

    Integer classes keep their number, so that they agree with the labels of a dataset; other
    classes are numbered in the order of `classes_`. `input_shape` defaults to the number of
    features that the estimator was fitted on. The fingerprint is of the pickled estimator.
    """
    title = name or f"scikit-learn {type(estimator).__name__}"
    classes = getattr(estimator, "classes_", None)
    if not isinstance(classes, np.ndarray) or not hasattr(estimator, "predict"):
        raise ClassifierError(
            f"{title} must be a fitted classifier of one output, with `predict` and `classes_`; "
            "call .fit first"
        )
    shape = _input_shape(estimator, input_shape, title)
    numbered = np.issubdtype(classes.dtype, np.integer)
    if numbered and classes.min() < 0:
        raise ClassifierError(
            f"{title} must have class numbers of at least 0, got {classes.min()}; "
            "fit it on labels that start at 0"
        )

    def forward(batch: NDArray[np.float32]) -> NDArray[np.int64]:
        predicted = estimator.predict(batch.reshape(len(batch), -1))
        ids = predicted if numbered else np.searchsorted(classes, predicted)
        return np.asarray(ids, dtype=np.int64)

    count = int(classes.max()) + 1 if numbered else len(classes)
    made = from_callable(
        forward,
        shape,
        count,
        bounds=bounds,
        name=title,
        fingerprint=f"sha256:{hashlib.sha256(pickle.dumps(estimator, protocol=4)).hexdigest()}",
    )
    if not numbered:
        made = replace(made, class_names=tuple(map(str, classes)))
    if not hasattr(estimator, "predict_proba"):
        return made

    def probabilities(batch: NDArray[np.float32]) -> NDArray[np.float64]:
        columns = np.zeros((len(batch), count))
        places = classes if numbered else np.arange(count)
        columns[:, places] = estimator.predict_proba(batch.reshape(len(batch), -1))
        return columns

    return replace(made, scoring=probabilities)


def _input_shape(estimator: Any, asked: tuple[int, ...] | None, title: str) -> tuple[int, ...]:
    features = getattr(estimator, "n_features_in_", None)
    if asked is None:
        if features is None:
            raise ClassifierError(
                f"{title} does not tell its number of features; give `input_shape`"
            )
        return (int(features),)
    shape = checked_shape(asked)
    if features is not None and math.prod(shape) != features:
        raise ClassifierError(
            f"{title} was fitted on {features} features, "
            f"but `input_shape` is {shape}, which has {math.prod(shape)}"
        )
    return shape
