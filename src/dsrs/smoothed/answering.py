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
from dsrs.methods.experts import named_expert, place_of
from dsrs.methods.plan import ADAPTIVE_BATCH
from dsrs.methods.registry import entry_of
from dsrs.noise.seeds import fresh_seed
from dsrs.smoothed.asking import PREDICTION, Asked, told
from dsrs.smoothed.prediction import Prediction
from dsrs.smoothed.routed_answering import routed_answer
from dsrs.votes import Collector, Stream


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
    asked = Asked(classifier, image, own, seed, index, collector)
    if question.radius is not None:
        return _certified(asked)
    if own.experts:
        return routed_answer(asked)
    counts, label = told(asked, Stream(PREDICTION, own.law), own.alpha)
    return asked.answer(label, counts.tolist())


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


def _certified(asked: Asked) -> Prediction:
    """The class, if it is certified at the radius of the plan: then, except with probability
    alpha, every input closer than that has the same smoothed class."""
    plan = asked.plan.replace(seed=asked.seed)
    sampled = sample_input(asked.classifier, asked.image, plan, asked.index, None, asked.collector)
    (certificate,) = certificates_of(sampled, plan).values()
    named = named_expert(sampled, plan) if plan.experts else None
    place = 0 if named is None else place_of(named)
    by_part = [votes.counts for votes in sampled.votes if votes.stream.classifier == place]
    label = sampled.target if certificate.status == "certified" else None
    return asked.answer(label, map(sum, zip(*by_part, strict=True)), certificate)
