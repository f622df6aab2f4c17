"""From an input to an answer: the class by a test of two classes, or only with a certificate."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from dsrs.certifying import sample_input
from dsrs.classifiers import Classifier
from dsrs.errors import InvalidInput
from dsrs.methods import ADAPTIVE_BATCH, NEYMAN_PEARSON, Plan, certificates_of, entry_of
from dsrs.noise import fresh_seed
from dsrs.smoothed.asking import PREDICTION, Asked, told
from dsrs.smoothed.prediction import Prediction
from dsrs.votes import Collector, Stream


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
