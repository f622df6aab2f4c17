"""A few votes of a few inputs before a run: what a vote costs, and what the model knows.

The votes have a seed of their own. They choose how the run is made, and votes that choose must not
certify as well, or alpha would not hold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event
from time import perf_counter
from typing import NamedTuple

import numpy as np

from dsrs.certifying.one_input import sample_input
from dsrs.classifiers import Classifier
from dsrs.datasets import Dataset
from dsrs.landscape import Profile, profile_of_bins
from dsrs.laws import HISTOGRAM_BINS
from dsrs.methods import NEYMAN_PEARSON, Plan, certificates_of
from dsrs.votes import SampledInput, ThreadExecutor

MOST_REHEARSAL_INPUTS, FEWEST_REHEARSAL_INPUTS = 32, 7
WHOLE = 3  # inputs whose certificates are made by all methods, and timed
MOST_REHEARSAL_VOTES, FEWEST_REHEARSAL_VOTES = 512, 64  # of each of these inputs

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What the votes of a few inputs tell.

    Attributes:
        profiles: accuracy against noise norm of each of these inputs.
        votes: how many were taken.
        seconds: how long everything took.
        seconds_per_query: of the model; None where nothing was measured.
        seconds_per_input: of what an input takes besides, its certificates included.
    """

    profiles: tuple[Profile, ...]
    votes: int = 0
    seconds: float = 0.0
    seconds_per_query: float | None = None
    seconds_per_input: float = 0.0


def rehearse(
    classifier: Classifier,
    dataset: Dataset,
    plan: Plan,
    indices: Sequence[int],
    *,
    workers: int | None = None,
    votes: float = float("inf"),
    most_seconds: float = float("inf"),
    clock: Clock = perf_counter,
) -> Rehearsal:
    """Sample and certify a few of the inputs, evenly spread, with a few votes.

    Args:
        classifier: what will be certified.
        dataset: its inputs.
        plan: how they will be certified; n is replaced, and the seed.
        indices: the inputs of the run.
        workers: threads; all cores when None.
        votes: about how many to take altogether, in the limits above.
        most_seconds: stop after this time, but not before FEWEST_REHEARSAL_INPUTS.
        clock: what seconds are read from.
    """
    count = min(MOST_REHEARSAL_INPUTS, len(indices))
    each = int(min(max(votes / count, FEWEST_REHEARSAL_VOTES), MOST_REHEARSAL_VOTES))
    whole = plan.on_grid_of(classifier.bounds).replace(
        n=each, seed=rehearsal_seed(plan.seed), early_stop=False
    )
    # Votes under P tell of the model. Two numbers of them tell what a vote costs, and an input.
    alone = whole.replace(methods=(NEYMAN_PEARSON,))
    fewer = alone.replace(n=max(each // 4, 16))
    places = np.linspace(0, len(indices) - 1, count).round().astype(int)
    order = np.random.default_rng(0).permutation(places)  # a stop leaves a fair sample
    began = clock()
    tried: list[_Tried] = []
    with ThreadExecutor(workers) as counting:
        counting.in_flight(each, 1)
        for index in (indices[place] for place in order.tolist()):
            small = (alone, fewer)[len(tried) % 2] if len(tried) >= WHOLE else whole
            x, label, start = dataset.input(index), dataset.label(index), clock()
            collector = counting.collector(Event())
            sampled = sample_input(classifier, x, small, index, label, collector)
            middle = clock()
            certificates_of(sampled, small)
            tried.append(_Tried(sampled, middle - start, clock() - middle))
            if len(tried) >= FEWEST_REHEARSAL_INPUTS and clock() - began >= most_seconds:
                break
    warm = tried[1:] or tried  # the first one also loads and compiles
    per_query, per_input = line_through([(one.sampling, one.sampled.queries or 0) for one in warm])
    per_input += float(np.mean([one.certifying for one in warm[: WHOLE - 1]]))
    return Rehearsal(
        tuple(profile_of_sample(one.sampled, plan) for one in tried),
        sum(part.total for one in tried for part in one.sampled.votes),
        clock() - began,
        per_query,
        per_input,
    )


class _Tried(NamedTuple):
    """One input of a rehearsal, and the seconds that its votes and its certificates took."""

    sampled: SampledInput
    sampling: float
    certifying: float


def line_through(timed: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """Seconds of a row and of an input beside its rows, by least squares; none is negative."""
    seconds, rows = np.asarray(timed, dtype=np.float64).T
    spread = rows - rows.mean()
    slope = float(spread @ seconds / (spread @ spread)) if spread.any() else 0.0
    ratio = float(seconds.sum() / rows.sum())
    if not 0 < slope <= ratio:
        return ratio, 0.0
    return slope, float(seconds.mean() - slope * rows.mean())


def rehearsal_seed(seed: int) -> int:
    """The seed of the rehearsal of a run: another one, and always the same."""
    return int.from_bytes(hashlib.sha256(f"rehearsal {seed}".encode()).digest()[:16], "big")


def profile_of_sample(sampled: SampledInput, plan: Plan) -> Profile:
    """Accuracy against noise norm, from the votes of one input under the smoothing law."""
    edges = plan.law.radial_quantile(np.linspace(0, 1, HISTOGRAM_BINS + 1))
    under_p = [votes for votes in sampled.votes if votes.stream.additional is None]
    hits, trials = (
        np.sum([getattr(votes, name) for votes in under_p], axis=0) for name in ("hits", "trials")
    )
    return profile_of_bins(edges, hits, trials)
