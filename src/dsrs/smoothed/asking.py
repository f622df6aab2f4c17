"""One question to one stream: the class that its votes tell apart, at the first look that does."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Classifier
from dsrs.methods import Look, Plan, schedule
from dsrs.proofs import Certificate
from dsrs.smoothed.prediction import Prediction, told_apart
from dsrs.votes import Collector, Setting, Stream, WorkUnit

PREDICTION = "predict"
Votes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Asked:
    """One input, and what takes its votes.

    Args:
        classifier: gives the votes.
        image: the input, checked.
        plan: noise, grid and alpha; `n0` is the most votes of a stream.
        seed: with `index` it chooses the noise.
        index: the number of the input.
        collector: takes the votes.
    """

    classifier: Classifier
    image: NDArray[np.float32]
    plan: Plan
    seed: int
    index: int
    collector: Collector

    def votes(self, stream: Stream, first: int, stop: int) -> Votes:
        """The votes by class of the samples `first` up to `stop` of a stream."""
        setting = Setting(self.seed, self.plan.batch, self.plan.known_grid)
        unit = WorkUnit(self.index, stream, first, stop)
        counted = self.collector.collect(self.classifier, self.image, setting, unit)
        by_class: Votes = counted.votes.sum(axis=1)
        return by_class

    def variation(self, stream: Stream) -> float:
        """How much sampled probabilities may differ from those of the ideal noise."""
        grid = self.plan.known_grid
        return 0.0 if grid is None else grid.variation(stream.law)

    def looks(self, alpha: float) -> tuple[Look, ...]:
        """When the votes of a stream are looked at, with parts of `alpha`."""
        return _looks(self.plan.n0, alpha, self.plan.batch)

    def answer(
        self, label: int | None, counts: Iterable[int], certificate: Certificate | None = None
    ) -> Prediction:
        """The answer with this class, or an abstention; `counts` are the votes by class."""
        return Prediction(
            status="abstained" if label is None else "predicted",
            label=label,
            counts=tuple(counts),
            seed=self.seed,
            seed_public=self.plan.seed_public,
            certificate=certificate,
        )


_looks = functools.lru_cache(maxsize=256)(schedule)


def told(asked: Asked, stream: Stream, alpha: float) -> tuple[Votes, int | None]:
    """The votes of a stream by class, and the class that they tell apart from the second one.

    It is not the most likely class with probability at most alpha; None is no answer.
    """
    variation = asked.variation(stream)
    counts: Votes | None = None
    label, taken = None, 0
    for look in asked.looks(alpha):
        more = asked.votes(stream, taken, look.votes)
        counts = more if counts is None else counts + more
        taken, label = look.votes, told_apart(counts, look.alpha, variation)
        if label is not None:
            break
    assert counts is not None
    return counts, label
