"""From an input to an answer: the class by a test of two classes, or only with a certificate."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsrs.certifying.one_input import sample_input
from dsrs.classifiers import Classifier
from dsrs.errors import InvalidInput
from dsrs.methods import NEYMAN_PEARSON, Plan, certificates_of, defaults
from dsrs.methods.looks import Look, schedule
from dsrs.methods.plan import ADAPTIVE_BATCH
from dsrs.methods.registry import entry_of
from dsrs.noise.seeds import fresh_seed
from dsrs.smoothed.prediction import Prediction, told_apart
from dsrs.votes import Collector, Setting, Stream, WorkUnit

PREDICTION = "predict"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of an input: the class, or the class if it is certified at `radius`.

    `n` is the most votes and `alpha` the probability, at most, of a wrong answer; None takes those
    of the plan, or of a prediction.
    """

    n: int | None = None
    alpha: float | None = None
    radius: float | None = None


def answered(
    classifier: Classifier,
    image: NDArray[np.float32],
    plan: Plan,
    question: Question,
    index: int,
    collector: Collector,
) -> Prediction:
    """The answer to one input; its noise is fresh unless the seed of the plan is public.

    Args:
        classifier: gives the votes.
        image: the input, checked.
        plan: noise, grid and method; its budget is that of certificates.
        question: what is asked.
        index: chooses the noise beside the seed.
        collector: takes the votes.
    """
    own = _plan_of(plan, question)
    seed = own.seed if own.seed_public else fresh_seed()
    if question.radius is None:
        return _told(classifier, image, own, seed, index, collector)
    return _certified(classifier, image, own.replace(seed=seed), index, collector)


@functools.lru_cache(maxsize=256)
def _plan_of(plan: Plan, question: Question) -> Plan:
    """The plan of the answer; InvalidInput for what no plan can have. Found once."""
    n = defaults.PREDICTION_VOTES if question.n is None else question.n
    alpha = plan.alpha if question.alpha is None else question.alpha
    batch = min(plan.batch, ADAPTIVE_BATCH)
    if question.radius is None:
        return plan.replace(n0=n, alpha=alpha, batch=batch)
    if not isinstance(question.radius, (int, float)) or isinstance(question.radius, bool):
        raise InvalidInput(f"`radius` must be a positive number, got {question.radius!r}")
    (method,) = plan.methods
    method = method if entry_of(method).load().one_bound else NEYMAN_PEARSON
    # The votes that choose the class fill whole passes.
    chosen = -(-min(plan.n0, n) // batch) * batch
    goal = {"radius": float(question.radius), "radii": (), "precision": None}
    return plan.replace(methods=(method,), n=n, n0=chosen, alpha=alpha, batch=batch, **goal)


@functools.lru_cache(maxsize=256)
def _looks(n: int, alpha: float, batch: int) -> tuple[Look, ...]:
    return schedule(n, alpha, batch)


def _told(
    classifier: Classifier,
    image: NDArray[np.float32],
    plan: Plan,
    seed: int,
    index: int,
    collector: Collector,
) -> Prediction:
    """The class that is told apart from the second one, at the first look that does."""
    grid, stream = plan.known_grid, Stream(PREDICTION, plan.law)
    variation = 0.0 if grid is None else grid.variation(plan.law)
    setting = Setting(seed, plan.batch, grid)
    counts, label, taken = np.zeros(classifier.num_classes, dtype=np.int64), None, 0
    for look in _looks(plan.n0, plan.alpha, plan.batch):
        unit = WorkUnit(index, stream, taken, look.votes)
        counts += collector.collect(classifier, image, setting, unit).votes.sum(axis=1)
        taken, label = look.votes, told_apart(counts, look.alpha, variation)
        if label is not None:
            break
    return Prediction(
        status="abstained" if label is None else "predicted",
        label=label,
        counts=tuple(counts.tolist()),
        seed=seed,
        seed_public=plan.seed_public,
    )


def _certified(
    classifier: Classifier,
    image: NDArray[np.float32],
    plan: Plan,
    index: int,
    collector: Collector,
) -> Prediction:
    """The class, if it is certified at the radius of the plan: then, except with probability
    alpha, every input closer than that has the same smoothed class."""
    sampled = sample_input(classifier, image, plan, index, None, collector)
    (certificate,) = certificates_of(sampled, plan).values()
    proved = certificate.status == "certified"
    by_part = [votes.counts for votes in sampled.votes]
    return Prediction(
        status="predicted" if proved else "abstained",
        label=sampled.target if proved else None,
        counts=tuple(map(sum, zip(*by_part, strict=True))),
        seed=plan.seed,
        seed_public=plan.seed_public,
        certificate=certificate,
    )
