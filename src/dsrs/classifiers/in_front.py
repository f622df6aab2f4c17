"""A model behind a denoiser, as one classifier."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dsrs.classifiers.base import Classifier, described
from dsrs.classifiers.callable import CallableClassifier, Forward, remembered
from dsrs.classifiers.memory import FittingRows

if TYPE_CHECKING:
    from dsrs.classifiers.denoisers import Denoiser


@remembered
def denoised(classifier: Classifier, denoiser: Denoiser) -> CallableClassifier:
    """Return `classifier` with `denoiser` between the noise and the classifier.

    In an ONNX model the denoiser becomes a part of the graph, before a PyTorch module it is a
    module, and before anything else it runs in NumPy. It is a part of description and fingerprint.

    Args:
        classifier: the model.
        denoiser: what its inputs pass through, as `denoiser_from` makes it for the shape and the
            bounds of the model.
    """
    if isinstance(classifier, CallableClassifier) and classifier.behind is not None:
        return replace(classifier.behind(denoiser), class_names=classifier.class_names)
    return in_numpy(classifier, denoiser)


def in_numpy(classifier: Classifier, denoiser: Denoiser) -> CallableClassifier:
    """Return `classifier` behind `denoiser`, which runs in NumPy."""
    known = classifier if isinstance(classifier, CallableClassifier) else None
    inner: Forward = classifier.classify if known is None else known.forward
    scores: Forward = classifier.scores if known is None else known.scoring or known.forward
    identity = classifier.fingerprint if known is None else known.identity
    title, shape = classifier.description.partition(";")[0], tuple(classifier.input_shape)
    return CallableClassifier(
        forward=lambda batch: inner(denoiser.rows(batch)),
        scoring=lambda batch: scores(denoiser.rows(batch)),
        input_shape=shape,
        num_classes=classifier.num_classes,
        bounds=classifier.bounds,
        identity=f"{identity} {denoiser.fingerprint}",
        description=described(f"{title} behind {denoiser.name}", shape, classifier.bounds),
        class_names=classifier.class_names,
        probed=known is not None and known.probed,
        memory=FittingRows() if known is None else known.memory,
    )
