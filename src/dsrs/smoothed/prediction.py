"""What a smoothed classifier answers: the class by a test of two classes, or with a certificate.

A question without a radius is put to one stream of votes, and answered at the first look at which
they tell the class apart from the second one. A question with a radius is answered by the class
that is certified there.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from dsrs.certifying import sample_input
from dsrs.classifiers import Classifier
from dsrs.errors import InvalidInput
from dsrs.methods import (
    ADAPTIVE_BATCH,
    NEYMAN_PEARSON,
    Look,
    Plan,
    certificates_of,
    entry_of,
    schedule,
)
from dsrs.noise import fresh_seed
from dsrs.proofs import Certificate
from dsrs.votes import Collector, Setting, Stream, WorkUnit

STRAY_SHARE = 0.01  # of alpha: for votes that stray from the ideal noise


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the smoothed classifier answers.

    `status` is "predicted" with a class in `label`, or "abstained" (then `label` is None): the two
    most frequent classes were too close to tell apart. `counts` are the votes by class: only as
    many as the answer took. Where a radius was asked for, `certificate` is what was proved; the
    class is answered only if it is proved at that radius.

    `seed` is that of the votes, so that they can be taken again. With `seed_public` it was known
    before the input was, and a class can be had wrong by choosing the input (docs/security.md).
    """

    status: Literal["predicted", "abstained"]
    label: int | None
    counts: tuple[int, ...]
    seed: int
    seed_public: bool
    certificate: Certificate | None = None


def told_apart(counts: NDArray[np.int64], alpha: float, variation: float = 0.0) -> int | None:
    """The most frequent class, if it is not the second one's chance at level alpha.

    A vote made on the grid is that of ideal noise but with probability `variation` (docs/grid.md):
    as many votes as may stray, but for a share of alpha, are counted for the second class instead.
    """
    second, top = (int(place) for place in np.argsort(counts, kind="stable")[-2:])
    best, rest, stray = int(counts[top]), int(counts[second]), 0
    if variation > 0:
        alpha_stray = STRAY_SHARE * alpha
        stray = most_that_stray(int(counts.sum()), alpha_stray, variation)
        alpha -= alpha_stray
    best, rest = best - stray, rest + stray
    if best <= rest:
        return None
    # The two-sided test of one half: both tails are alike.
    return top if 2 * special.bdtr(rest, best + rest, 0.5) <= alpha else None


# Looks are few, and each question has the same ones.
@functools.lru_cache(maxsize=4096)
def most_that_stray(votes: int, alpha: float, variation: float) -> int:
    """So many of the votes stray at most, except with probability alpha; each does with one of
    `variation` at most."""
    stray = int(stats.binom.isf(alpha, votes, variation))
    while stats.binom.sf(stray, votes, variation) > alpha:
        stray += 1
    return stray


# ---- One question to one stream of votes

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


# ---- From an input to its answer


@functools.lru_cache(maxsize=256)
def plan_of_answer(plan: Plan, n: int, alpha: float | None, radius: float | None) -> Plan:
    """The plan of answers; InvalidInput for what no plan can have.

    Args:
        plan: noise, grid and method; its budget is that of certificates.
        n: the most votes.
        alpha: the probability, at most, of a wrong answer; that of the plan when None.
        radius: where the class must be certified to be answered; None asks for the class alone.
    """
    alpha = plan.alpha if alpha is None else alpha
    batch = min(plan.batch, ADAPTIVE_BATCH)
    if radius is None:
        return plan.replace(n0=n, alpha=alpha, batch=batch, radius=None)
    if not isinstance(radius, (int, float)) or isinstance(radius, bool):
        raise InvalidInput(f"`radius` must be a positive number, got {radius!r}")
    (method,) = plan.methods
    method = method if entry_of(method).load().one_bound else NEYMAN_PEARSON
    # The votes that choose the class fill whole passes.
    chosen = -(-min(plan.n0, n) // batch) * batch
    goal = {"radius": float(radius), "radii": (), "precision": None}
    return plan.replace(methods=(method,), n=n, n0=chosen, alpha=alpha, batch=batch, **goal)


def answered(
    classifier: Classifier,
    image: NDArray[np.float32],
    plan: Plan,
    index: int,
    collector: Collector,
) -> Prediction:
    """The answer to one input; its noise is fresh unless the seed of the plan is public.

    Args:
        classifier: gives the votes.
        image: the input, checked.
        plan: what is asked, from `plan_of_answer`.
        index: chooses the noise beside the seed.
        collector: takes the votes.
    """
    seed = plan.seed if plan.seed_public else fresh_seed()
    asked = Asked(classifier, image, plan, seed, index, collector)
    if plan.radius is not None:
        return _certified(asked)
    counts, label = told(asked, Stream(PREDICTION, plan.law), plan.alpha)
    return asked.answer(label, counts.tolist())


def _certified(asked: Asked) -> Prediction:
    """The class, if it is certified at the radius of the plan: then, except with probability
    alpha, every input closer than that has the same smoothed class."""
    plan = asked.plan.replace(seed=asked.seed)
    sampled = sample_input(asked.classifier, asked.image, plan, asked.index, None, asked.collector)
    (certificate,) = certificates_of(sampled, plan).values()
    by_part = [votes.counts for votes in sampled.votes]
    label = sampled.target if certificate.status == "certified" else None
    return asked.answer(label, map(sum, zip(*by_part, strict=True)), certificate)
