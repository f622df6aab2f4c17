"""Why hardly anything was certified, and what to try: what votes and answers without noise tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from dsrs.confidence import clopper_pearson_lower
from dsrs.measures.accuracy import proved_radius
from dsrs.methods import Plan
from dsrs.store import RunResult
from dsrs.votes import ESTIMATION

Classes = NDArray[np.int64]

FEW_CERTIFIED = 0.1  # share of certified inputs up to which something is wrong, and not only hard
SHUFFLES = 199  # of the labels; the answers must fit better than with all but one of them
SHOWN_CLASS_PAIRS = 5  # pairs of classes that are named
MOST_ADVISED_VOTES = 10**8
MOST_JUDGED = 500  # inputs whose answers are compared with their labels


def hopeless_votes(n: int, alpha: float) -> str | None:
    """Why n votes can never certify anything at this alpha; None where they can.

    Even if all votes agree, the lower bound of the class is alpha^(1/n), and a certificate needs
    more than one half. That holds for every method: a classifier that answers the class with this
    probability under every noise agrees with all bounds, and has no majority.
    """
    if clopper_pearson_lower(n, n, alpha) > 0.5:
        return None
    least = n + 1
    while clopper_pearson_lower(least, least, alpha) <= 0.5:
        least += 1
    bound = clopper_pearson_lower(n, n, alpha)
    return (
        f"{n} vote{'s' * (n != 1)} can never certify at alpha = {alpha:g}, even if all of them "
        f"agree: the bound of the class would be {bound:.3f}, and more than 0.5 is needed; use at "
        f"least {least} votes, and some hundreds to see a radius"
    )


def diagnose(results: Iterable[RunResult], plan: Plan) -> list[str]:
    """Sentences on why hardly any input is certified for its label; none where enough are.

    Args:
        results: the finished inputs of a run.
        plan: the plan of the run.
    """
    seen = list(results)
    if not seen or _certified(seen) > FEW_CERTIFIED * len(seen):
        return []
    counted = _counted(seen)
    answers = [*_of_labels(seen, plan), *_of_votes(counted, len(seen), plan)]
    return answers or [
        "no class has a majority of the votes: under this noise the model does not know; use a "
        "smaller --sigma, or a model that was trained with such noise (`dsrs tune` tells which "
        "noise certifies most)"
    ]


def renamed_classes(answers: Classes, labels: Classes) -> dict[int, int] | None:
    """The class that each label is answered with, where that explains the answers, else None.

    The best assignment of answers to labels must be right for half of the inputs and twice as
    often as the answers as they are, and fit better than for shuffled labels (a permutation test
    at 1%): few inputs with many classes always fit somehow.
    """
    right = int(np.count_nonzero(answers == labels))
    matched, pairs = _best_assignment(answers, labels)
    if matched < 0.5 * len(labels) or matched <= 2 * right:
        return None
    generator = np.random.default_rng(0)
    by_chance = sum(
        _best_assignment(answers, generator.permutation(labels))[0] >= matched
        for _ in range(SHUFFLES)
    )
    return pairs if by_chance <= 1 else None


def _best_assignment(answers: Classes, labels: Classes) -> tuple[int, dict[int, int]]:
    classes, places = np.unique(np.concatenate([answers, labels]), return_inverse=True)
    table = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(table, (places[len(answers) :], places[: len(answers)]), 1)
    rows, columns = optimize.linear_sum_assignment(table, maximize=True)
    pairs = {
        int(classes[row]): int(classes[column])
        for row, column in zip(rows, columns, strict=True)
        if table[row, column]
    }
    return int(table[rows, columns].sum()), pairs


def _of_labels(seen: Sequence[RunResult], plan: Plan) -> list[str]:
    """What labels and answers tell together; nothing without labels."""
    known = [
        (one.label, one.predicted, one.sampled.undefended)
        for one in seen[:MOST_JUDGED]
        if one.label is not None and one.predicted is not None
    ]
    if not known:
        return []
    labels, noisy = (np.array([row[column] for row in known]) for column in (0, 1))
    undefended = None not in (row[2] for row in known)
    answers = np.array([row[2] for row in known]) if undefended else noisy
    without = " without noise" if undefended else ""
    renamed = renamed_classes(answers, labels)
    size, right = len(labels), int(np.count_nonzero(answers == labels))
    if renamed is not None:
        matched = sum(renamed.get(int(y)) == int(a) for y, a in zip(labels, answers, strict=True))
        moved = [f"{y} as {a}" for y, a in sorted(renamed.items()) if y != a]
        more = ", ..." if len(moved) > SHOWN_CLASS_PAIRS else ""
        return [
            f"the model answers the label {', '.join(moved[:SHOWN_CLASS_PAIRS])}{more}: with "
            f"classes renamed like this {matched} of {size} inputs are right{without}, and {right} "
            "as they are; model and data number their classes in different orders, so give the "
            "labels in the model's order"
        ]
    if not undefended:
        return []
    under_noise = int(np.count_nonzero(noisy == labels))
    if right > 0.5 * size and under_noise < 0.5 * right:
        common, count = Counter(noisy.tolist()).most_common(1)[0]
        lost = f", and answers class {common} for {count} of them" if count > size / 2 else ""
        return [
            f"the model is right on {right} of {size} inputs without noise and on {under_noise} "
            f"under noise of sigma = {plan.law.sigma:g}{lost}: the noise is too large for it; use "
            "a smaller --sigma (`dsrs tune` tells which noise certifies most), or train with noise"
        ]
    if right <= max(2, 0.2 * size):
        return [
            f"the model is right on {right} of {size} inputs without any noise: check that the "
            "data is what it was trained on, in the same units (--bounds, --mean, --std) and "
            "layout (--channels-last), and that the labels are those of these inputs"
        ]
    return []


def _of_votes(counted: Sequence[tuple[int, int]], inputs: int, plan: Plan) -> list[str]:
    """Whether more votes would help: classes with a majority that was not proved."""
    unproved = [
        hits / votes
        for hits, votes in counted
        if 2 * hits > votes and clopper_pearson_lower(hits, votes, plan.alpha) <= 0.5
    ]
    if 2 * len(unproved) <= inputs:
        return []
    middle = float(np.median(unproved))
    needed = plan.n
    while needed < MOST_ADVISED_VOTES and (
        clopper_pearson_lower(int(middle * needed), needed, plan.alpha) <= 0.5
    ):
        needed *= 2
    return [
        f"{len(unproved)} of {inputs} inputs have a majority for their class that n = "
        f"{plan.n:,} votes do not prove at alpha = {plan.alpha:g}; use more votes, such as "
        f"--n {needed}"
    ]


def _certified(seen: Sequence[RunResult]) -> int:
    """How many inputs any method certifies for their label."""
    return sum(
        any(
            proved_radius(certificate.status, certificate.radius, one.label in (None, one.target))
            >= 0
            for certificate in one.certificates.values()
        )
        for one in seen
    )


def _counted(seen: Sequence[RunResult]) -> list[tuple[int, int]]:
    """Hits and votes of each input under the smoothing law, where it has some."""
    counted = []
    for one in seen:
        parts = [
            votes
            for votes in one.votes
            if votes.stream.additional is None and votes.stream.purpose == ESTIMATION
        ]
        if parts:
            counted.append(
                (sum(votes.successes for votes in parts), sum(votes.total for votes in parts))
            )
    return counted
