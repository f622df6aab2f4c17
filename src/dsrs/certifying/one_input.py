"""Take the votes of one input: whatever the strategies of its plan want, from a classifier."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.classifiers import Classifier
from dsrs.errors import DataError, InvalidInput
from dsrs.methods import Plan, Session
from dsrs.proofs.subject import input_fingerprint
from dsrs.votes import Collector, Setting, VoteCollector, WorkUnit
from dsrs.votes.records import SampledInput


def setting_of(plan: Plan) -> Setting:
    """What the sampler needs to know of a plan."""
    return Setting(plan.seed, plan.batch, plan.grid)


def sample_input(
    classifier: Classifier,
    x: ArrayLike,
    plan: Plan,
    index: int,
    label: int | None = None,
    collector: Collector | None = None,
) -> SampledInput:
    """Sample one input as `plan` says.

    `index` numbers the input: it keys the noise, so the same index always sees the same noise.
    `collector` keeps its worker threads from one input to the next; without one, all cores are
    used for this call.
    """
    started = perf_counter()
    image = checked_input(classifier, x, plan, index)
    known = None if label is None else checked_label(classifier, label, index)
    moved = 0.0 if plan.grid is None else plan.grid.distance(np.asarray(x))
    session, setting, queries = Session(plan, index, known, moved), setting_of(plan), 0
    with VoteCollector() if collector is None else nullcontext(collector) as workers:
        while (want := session.want()) is not None:
            unit = WorkUnit(index, want.stream, session.seen.taken(want.stream), want.stop)
            if want.sums:
                unit = replace(unit, missed=session.seen.target)
                session.add(want, *workers.collect_with_sums(classifier, image, setting, unit))
            else:
                session.add(want, workers.collect(classifier, image, setting, unit))
            queries += unit.rows(setting.batch)
    sampled = session.finish(perf_counter() - started, queries)
    return replace(sampled, model=classifier.fingerprint, input=input_fingerprint(image))


def checked_label(classifier: Classifier, label: object, index: int) -> int:
    """`label` as an int, or an error unless it is a whole number that names a class."""
    if not is_whole(label) or not 0 <= label < classifier.num_classes:
        raise DataError(
            f"the label of input {index} must be a class from 0 to {classifier.num_classes - 1}, "
            f"got {label!r}"
        )
    return int(label)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether this is an integer of Python or NumPy, and no truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def checked_input(
    classifier: Classifier, x: ArrayLike, plan: Plan, index: int
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
    found = np.ascontiguousarray(image, dtype=np.float32)
    lower, upper = (np.float32(bound) for bound in classifier.bounds)
    if found.min() < lower or found.max() > upper:
        raise DataError(
            f"input {index} must lie in the classifier's bounds [{lower:g}, {upper:g}], got values "
            f"from {found.min():g} to {found.max():g}; radii are in these units"
        )
    return found
