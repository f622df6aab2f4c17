"""Take the votes of one input: whatever the methods of its plan want, from a classifier."""

from __future__ import annotations

import math
import operator
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.classifiers import Classifier, answer_of
from dsrs.errors import DataError, InvalidInput
from dsrs.methods import Plan, Session
from dsrs.proofs import input_fingerprint
from dsrs.votes import Collector, SampledInput, Setting, VoteCollector


def setting_of(plan: Plan) -> Setting:
    """What the sampler needs to know of a plan."""
    return Setting(plan.seed, plan.batch, plan.known_grid)


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
    plan = plan.on_grid_of(classifier.bounds)
    image = checked_input(classifier, x, plan, index)
    known = None if label is None else checked_label(classifier, label, index)
    grid = plan.known_grid
    moved = 0.0 if grid is None else grid.distance(np.asarray(x))
    session, setting, queries = Session(plan, index, known, moved), setting_of(plan), 0
    with VoteCollector() if collector is None else nullcontext(collector) as workers:
        while (unit := session.next()) is not None:
            session.add(unit, workers.collect(classifier, image, setting, unit))
            queries += unit.rows(setting.batch)
    sampled = session.finish(perf_counter() - started, queries)
    salt = (plan.seed, index) if image.ndim == 1 else None
    return replace(sampled, model=classifier.fingerprint, input=input_fingerprint(image, salt))


def with_undefended(
    sampled: SampledInput, classifier: Classifier, x: NDArray[np.float32]
) -> SampledInput:
    """The record with the model's answer to the input `x` without noise, for one query more.

    It is what people have who do not smooth the model: reports show it beside certified accuracy.
    """
    answer = answer_of(classifier.classify, np.asarray(x)[None], classifier.description)
    return replace(sampled, undefended=int(answer[0]), queries=(sampled.queries or 0) + 1)


def note_on_distance(moved: float, plan: Plan) -> str | None:
    """What to say of an input that the grid moved this far, if that is much beside the noise."""
    if moved <= plan.law.sigma / 10:
        return None
    return (
        f"an input lies {moved:.3g} (l2) from the nearest point of the grid, more than a tenth of "
        f"sigma = {plan.law.sigma:g}: it is classified there, and its radius is less by as much; "
        "use a smaller step for a larger radius"
    )


def checked_index(index: object) -> int:
    """`index` as an int, 0 for None; InvalidInput unless it is a number that may key the noise."""
    if index is None:
        return 0
    number = whole(index)
    if number is None or not 0 <= number < 2**56:
        raise InvalidInput(f"`index` must be a whole number from 0 to 2^56 - 1, got {index!r}")
    return number


def checked_label(classifier: Classifier, label: object, index: int) -> int:
    """`label` as an int, or an error unless it is a whole number that names a class."""
    number = whole(label)
    if number is None or not 0 <= number < classifier.num_classes:
        raise DataError(
            f"the label of input {index} must be a class from 0 to {classifier.num_classes - 1}, "
            f"a whole number, got {label!r}"
        )
    return number


def whole(value: object) -> int | None:
    """An integer of Python, NumPy or PyTorch as an int; None for truth values and all others."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def checked_input(
    classifier: Classifier, x: ArrayLike, plan: Plan, index: int | None
) -> NDArray[np.float32]:
    """`x` as float32, or an error that says what does not fit the classifier and the law."""
    image, name = np.asarray(x), "the input" if index is None else f"input {index}"
    shape = tuple(classifier.input_shape)
    if image.shape != shape:
        batch = image.shape[1:] == shape
        raise DataError(
            f"{name} must have the classifier's shape {shape}, got {image.shape}"
            + ("; inputs are taken one at a time, not in batches" if batch else "")
        )
    if image.size != plan.law.d:
        raise InvalidInput(
            f"the noise law has d = {plan.law.d}, but the classifier's inputs have "
            f"{math.prod(image.shape)} numbers; use d = {math.prod(image.shape)}"
        )
    if not np.issubdtype(image.dtype, np.floating):
        raise DataError(
            f"{name} must be floating point in the classifier's units "
            f"{classifier.bounds}, got {image.dtype}"
        )
    if not np.isfinite(image).all():
        raise DataError(f"{name} must be finite numbers, but it holds NaN or infinity")
    found = np.ascontiguousarray(image, dtype=np.float32)
    lower, upper = (np.float32(bound) for bound in classifier.bounds)
    if found.min() < lower or found.max() > upper:
        raise DataError(
            f"{name} must lie in the classifier's bounds [{lower:g}, {upper:g}], got values "
            f"from {found.min():g} to {found.max():g}; radii are in these units"
        )
    return found
