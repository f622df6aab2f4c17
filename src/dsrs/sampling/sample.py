"""All votes of one input, in the order that its alpha accounting needs."""

from __future__ import annotations

import math
from contextlib import nullcontext
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.classifiers import Classifier
from dsrs.errors import DataError, InvalidInput
from dsrs.laws import parse_additional_law
from dsrs.sampling.collect import Histogram, VoteCollector, WorkUnit, votes_of
from dsrs.sampling.noise import NoiseLaw
from dsrs.sampling.plan import SamplingPlan
from dsrs.sampling.strategies import falls_back, hopeless, looks, p_interval
from dsrs.sampling.votes import ADDITIONAL, FIRST, SECOND, SELECTION, SampledInput, Votes


def sample_input(
    classifier: Classifier,
    x: ArrayLike,
    plan: SamplingPlan,
    index: int,
    label: int | None = None,
    collector: VoteCollector | None = None,
) -> SampledInput:
    """Sample one input as `plan` says.

    `index` numbers the input: it keys the noise, so the same index always sees the same noise.
    `collector` keeps its worker threads from one input to the next; without one, all cores are
    used for this call.
    """
    image = checked_input(classifier, x, plan, index)
    if label is not None and not 0 <= label < classifier.num_classes:
        raise DataError(
            f"the label of input {index} must be a class from 0 to {classifier.num_classes - 1}, "
            f"got {label}"
        )
    with VoteCollector() if collector is None else nullcontext(collector) as workers:
        return _Sampling(classifier, image, plan, index, workers).run(label)


class _Sampling:
    """One input on its way: selection, votes under P, then votes under each Q."""

    def __init__(
        self,
        classifier: Classifier,
        x: NDArray[np.float32],
        plan: SamplingPlan,
        index: int,
        collector: VoteCollector,
    ) -> None:
        self.classifier = classifier
        self.x = x
        self.plan = plan
        self.index = index
        self.collector = collector

    def run(self, label: int | None) -> SampledInput:
        started = perf_counter()
        plan = self.plan
        taken: list[Votes] = []
        predicted = None
        if label is not None and plan.target == "label":
            target = label
        else:
            selection = self.histogram(SELECTION, plan.law, 0, plan.n0)
            predicted = target = int(selection.sum(axis=1).argmax())
            taken.append(votes_of(selection, SELECTION, target, plan.law))
        first, stopped = self.first_votes(target)
        taken.append(first)
        if predicted is None:
            predicted = int(np.argmax(first.counts))
        if not stopped:
            taken.extend(self.further_votes(first, target))
        return SampledInput(
            index=self.index,
            label=label,
            predicted=predicted,
            target=target,
            votes=tuple(taken),
            stopped=stopped,
            seconds=perf_counter() - started,
        )

    def first_votes(self, target: int) -> tuple[Votes, bool]:
        """Stream `p1`, and whether it was given up on the way."""
        plan = self.plan
        ends = looks(plan.n_first) if plan.early_stop else [plan.n_first]
        start, stopped = 0, False
        votes = np.zeros((self.classifier.num_classes, 1), dtype=np.int64)
        for end in ends:
            votes = votes + self.histogram(FIRST, plan.law, start, end)
            start = end
            if plan.early_stop and hopeless(int(votes[target].sum()), end):
                stopped = True
                break
        return votes_of(votes, FIRST, target, plan.law), stopped

    def further_votes(self, first: Votes, target: int) -> list[Votes]:
        """Streams `p2` and `q:`, as far as the methods need them after these first votes."""
        plan = self.plan
        goes_on_under_p = falls_back(first, plan)
        taken = []
        if plan.n_second and (plan.neyman_pearson or goes_on_under_p):
            taken.append(self.votes(SECOND, plan.law, target))
        p = p_interval(first, plan)
        # Without a proved majority under P, votes under Q cannot certify anything.
        useless = plan.early_stop and p.lower <= 0.5
        if goes_on_under_p or useless:
            return taken
        for text in plan.additional:
            law = parse_additional_law(text, plan.law, p.lower)
            taken.append(self.votes(ADDITIONAL + plan.method_of(text), law, target))
        return taken

    def votes(self, stream: str, law: NoiseLaw, target: int) -> Votes:
        return votes_of(self.histogram(stream, law, 0, self.plan.n_second), stream, target, law)

    def histogram(self, stream: str, law: NoiseLaw, start: int, stop: int) -> Histogram:
        unit = WorkUnit(self.index, stream, law, start, stop)
        return self.collector.collect(self.classifier, self.x, self.plan, unit)


def checked_input(
    classifier: Classifier, x: ArrayLike, plan: SamplingPlan, index: int
) -> NDArray[np.float32]:
    """`x` as float32, or an error that says what does not fit the classifier and the law."""
    image = np.asarray(x)
    if image.shape != tuple(classifier.input_shape):
        raise DataError(
            f"input {index} must have the classifier's shape {tuple(classifier.input_shape)}, "
            f"got {image.shape}"
        )
    if image.size != plan.law.d:
        raise InvalidInput(
            f"the noise law has d = {plan.law.d}, but the classifier's inputs have "
            f"{math.prod(image.shape)} numbers; use d = {math.prod(image.shape)}"
        )
    if not np.issubdtype(image.dtype, np.floating):
        raise DataError(
            f"input {index} must be floating point in the classifier's units "
            f"{classifier.bounds}, got {image.dtype}"
        )
    if not np.isfinite(image).all():
        raise DataError(f"input {index} must be finite numbers, but it holds NaN or infinity")
    return np.ascontiguousarray(image, dtype=np.float32)
