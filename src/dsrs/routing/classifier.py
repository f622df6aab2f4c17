"""`dsrs.RoutedClassifier`: a certified router that chooses the expert, and its noise, by input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsrs.classifiers import Classifier
from dsrs.classifiers.routed import RoutedModel
from dsrs.errors import InvalidInput
from dsrs.smoothed.classifier import SmoothedClassifier


class RoutedClassifier(SmoothedClassifier):
    """A smoothed router that names, for each input, the smoothed classifier that answers it.

        experts = [dsrs.smooth(model, sigma) for sigma in (0.25, 0.5, 1.0)]
        routed = dsrs.RoutedClassifier(dsrs.smooth(router, 0.5), experts)
        routed.predict(x).label
        routed.certify(x).radius    # no change of x shorter than this changes the answer

    A certificate is about the routed answer: neither the router's change of mind nor an expert's
    can change it within the radius (proofs/routed.py). `predict` and `certify` are those of
    `SmoothedClassifier`, for one input or many, and so are their guarantees.

    Args:
        router: a smoothed classifier whose classes are the numbers of the experts.
        experts: a smoothed classifier each; or a `Classifier` that is used as it is, without
            noise: what it answers gets no certificate. Their own votes, alpha and seeds are not
            used.
        options: those of `SmoothedClassifier`: `n`, `alpha`, `method`, `seed`, ... `n` is the
            most votes of each classifier, `alpha` the failure probability of a certificate.
    """

    def __init__(
        self,
        router: SmoothedClassifier,
        experts: Sequence[SmoothedClassifier | Classifier],
        **options: Any,
    ) -> None:
        if not isinstance(router, SmoothedClassifier):
            raise InvalidInput(
                f"the router must be smoothed, as dsrs.smooth(router, sigma=0.5), got "
                f"{type(router).__name__}"
            )
        for expert in experts:
            if not isinstance(expert, (SmoothedClassifier, Classifier)):
                raise InvalidInput(
                    "an expert must be a smoothed classifier, as dsrs.smooth(model, sigma=0.25), "
                    f"or a Classifier to use without noise, got {type(expert).__name__}"
                )
        model = RoutedModel(
            router.classifier,
            router.plan.law,
            [one.classifier if isinstance(one, SmoothedClassifier) else one for one in experts],
            tuple(one.plan.law if isinstance(one, SmoothedClassifier) else None for one in experts),
        )
        super().__init__(model, **options)
