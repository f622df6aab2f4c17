"""Several models as one classifier: the mean of their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.base import Classifier, described
from dsrs.classifiers.callable import CallableClassifier, probe_batch, remembered
from dsrs.classifiers.in_front import denoised
from dsrs.classifiers.onnx_graph import averaged
from dsrs.errors import InvalidInput

if TYPE_CHECKING:
    from dsrs.classifiers.denoisers import Denoiser


SHARE_TOLERANCE = 1e-3  # of probabilities in reduced precision


@remembered
def ensemble(members: Sequence[Classifier]) -> CallableClassifier:
    """The classifier whose scores are the mean of the members' scores.

    Scores are what the models return, all logits or all probabilities. A row is one query, which
    takes a pass of each member.

    Args:
        members: two or more models of one input shape, number of classes and bounds, which return
            scores.
    """
    if len(members) < 2:
        raise InvalidInput(f"an ensemble needs two models or more, got {len(members)}")
    first = members[0]
    kinds = {_kind_of_scores(_checked_scores(member, first)) for member in members}
    if len(kinds) > 1:
        raise InvalidInput(
            "some models of the ensemble return probabilities and others do not, so their mean "
            "would count the others most; let all return logits, or all probabilities"
        )

    def forward(batch: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.asarray(np.mean([member.scores(batch) for member in members], axis=0))

    def behind(denoiser: Denoiser) -> CallableClassifier:
        return ensemble([denoised(member, denoiser) for member in members])

    titles = [member.description.partition(";")[0] for member in members]
    graphs = [graph for member in members if (graph := getattr(member, "graph", None))]
    return CallableClassifier(
        forward=forward,
        input_shape=tuple(first.input_shape),
        num_classes=first.num_classes,
        bounds=first.bounds,
        identity="mean of " + ", ".join(member.fingerprint for member in members),
        description=described(
            f"mean of {len(members)} models: {', '.join(titles)}",
            tuple(first.input_shape),
            first.bounds,
        ),
        class_names=first.class_names,
        behind=behind,
        graph=(lambda: averaged([graph() for graph in graphs]))
        if len(graphs) == len(members)
        else None,
    )


def _checked_scores(member: Classifier, first: Classifier) -> NDArray[np.float64]:
    """Some scores of a member, or an error unless it fits the first one and returns scores."""
    for name in ("input_shape", "num_classes", "bounds"):
        expected, actual = getattr(first, name), getattr(member, name)
        if expected != actual:
            raise InvalidInput(
                f"the models of an ensemble must have the same `{name}`: "
                f"{first.description} has {expected}, {member.description} has {actual}"
            )
    scores = member.scores(probe_batch(member.input_shape, member.bounds))
    return np.asarray(scores, dtype=np.float64)


def _kind_of_scores(scores: NDArray[np.float64]) -> str:
    """Probabilities if no row has a negative score and each sums to 1."""
    sums = scores.sum(axis=1)
    are_shares = bool(np.all(scores >= 0) and np.all(np.abs(sums - 1) < SHARE_TOLERANCE))
    return "probabilities" if are_shares else "others"
