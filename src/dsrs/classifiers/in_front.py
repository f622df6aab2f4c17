"""A model behind a denoiser, as one classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.base import Classifier, described
from dsrs.classifiers.callable import CallableClassifier, Forward
from dsrs.classifiers.memory import FittingRows

if TYPE_CHECKING:
    from dsrs.classifiers.denoisers import Denoiser


def denoised(classifier: Classifier, denoiser: Denoiser) -> CallableClassifier:
    """`classifier` with `denoiser` between the noise and it.

    In an ONNX model the denoiser becomes a part of the graph, before a PyTorch module it is a
    module, and before anything else it runs in NumPy. It is a part of description and fingerprint.

    Args:
        classifier: the model.
        denoiser: what its inputs pass through, as `denoiser_from` makes it for the shape and the
            bounds of the model.
    """
    if isinstance(classifier, CallableClassifier) and classifier.behind is not None:
        return classifier.behind(denoiser)
    return in_numpy(classifier, denoiser)


def in_numpy(classifier: Classifier, denoiser: Denoiser) -> CallableClassifier:
    """The same, with the denoiser run in NumPy."""
    inner, probed, memory = scores_of(classifier), False, FittingRows()
    identity = ""
    if isinstance(classifier, CallableClassifier):
        probed, memory, identity = classifier.probed, classifier.memory, classifier.identity
    title = classifier.description.partition(";")[0]

    def forward(batch: NDArray[np.float32]) -> Any:
        return inner(denoiser.rows(batch))

    return CallableClassifier(
        forward=forward,
        input_shape=tuple(classifier.input_shape),
        num_classes=classifier.num_classes,
        bounds=classifier.bounds,
        identity=f"{identity or classifier.fingerprint} {denoiser.fingerprint}",
        description=described(
            f"{title} behind {denoiser.name}", tuple(classifier.input_shape), classifier.bounds
        ),
        probed=probed,
        memory=memory,
    )


def scores_of(classifier: Classifier) -> Forward:
    """What the model answers to a batch: scores where it says them, else classes."""
    return classifier.forward if isinstance(classifier, CallableClassifier) else classifier.classify
