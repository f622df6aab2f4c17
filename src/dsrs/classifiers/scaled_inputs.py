"""A classifier of scaled inputs: what is certified where each feature has a unit of its own."""

from __future__ import annotations

import numpy as np

from dsrs.classifiers.base import Classifier, ScoreGradient, described
from dsrs.classifiers.callable import CallableClassifier, remembered
from dsrs.classifiers.scaling import Scaling
from dsrs.errors import InvalidInput


@remembered
def scaled(classifier: Classifier, scaling: Scaling) -> CallableClassifier:
    """A classifier of scaled inputs from one of inputs in the units of their features.

    The inputs are brought back in double precision, then converted to float32 once: a function of
    the scaled grid point alone.
    """
    shape = tuple(classifier.input_shape)
    if shape != (len(scaling.unit),):
        raise InvalidInput(
            f"{classifier.description}: a scaling of {len(scaling.unit)} features needs a model of "
            f"inputs of shape ({len(scaling.unit)},), got {shape}"
        )
    unit = np.asarray(scaling.unit, np.float32)

    def chained(gradient: ScoreGradient | None) -> ScoreGradient | None:
        return gradient and (lambda batch, scores: gradient(scaling.to_own(batch), scores) * unit)

    inner = classifier.description.partition(";")[0]
    return CallableClassifier(
        forward=lambda batch: classifier.classify(scaling.to_own(batch)),
        input_shape=shape,
        num_classes=classifier.num_classes,
        bounds=scaling.bounds,
        identity=f"{classifier.fingerprint} scaled:{scaling.fingerprint}",
        description=f"{described(inner, shape, scaling.bounds)}, {scaling.text}",
        class_names=classifier.class_names,
        score_gradient=chained(classifier.score_gradient),
        later_gradient=lambda: chained(classifier.gradient()),
        scoring=lambda batch: classifier.scores(scaling.to_own(batch)),
        scaling=scaling,
    )
