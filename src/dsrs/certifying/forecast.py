"""What a run will show and cost: simulated votes, an expected table, a rehearsal."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from dsrs.certifying.inputs import sample_input
from dsrs.classifiers import Classifier
from dsrs.confidence import (
    Resampling,
    clopper_pearson_lower,
    clopper_pearson_upper,
    interval,
    resampled_means,
)
from dsrs.datasets import Dataset
from dsrs.landscape import (
    Profile,
    expected_hits,
    neyman_pearson_radius,
    probability,
    profile_of_bins,
)
from dsrs.laws import HISTOGRAM_BINS
from dsrs.methods import NEYMAN_PEARSON, Plan, Session, certificates_of, methods_of
from dsrs.noise import radial_edges
from dsrs.votes import Counts, SampledInput, ThreadExecutor, WorkUnit

# ---- An input as its profile foretells it: the votes that a plan takes, without a model

QUANTILES = 4096  # of noise norms, by which votes fall into bins


def simulated_input(
    profile: Profile, plan: Plan, generator: np.random.Generator, labelled: bool = True
) -> SampledInput:
    """Votes of an input with this profile, drawn at random.

    The methods of the plan decide as they would of real votes, so that this tells what a run will
    cost. Class 0 stands for the class of the profile.
    """
    session, rows = Session(plan, 0, 0 if labelled else None), 0
    while (unit := session.next()) is not None:
        session.add(unit, drawn_counts(profile, unit, generator))
        rows += unit.rows(plan.batch)
    return session.finish(0.0, rows)


def drawn_counts(profile: Profile, unit: WorkUnit, generator: np.random.Generator) -> Counts:
    """Counts of a unit by noise norm, for class 0 and for another one."""
    norms = unit.stream.law.radial_quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    bins = np.searchsorted(radial_edges(unit.stream.base), norms).clip(0, HISTOGRAM_BINS - 1)
    mass = np.bincount(bins, minlength=HISTOGRAM_BINS) / QUANTILES
    right = np.bincount(bins, profile(norms), HISTOGRAM_BINS) / QUANTILES
    share = np.divide(right, mass, out=np.zeros_like(mass), where=mass > 0).clip(0.0, 1.0)
    trials = generator.multinomial(unit.stop - unit.first, mass)
    hits = generator.binomial(trials, share)
    return Counts(np.stack([hits, trials - hits]), unit.tallies)


# ---- The table to expect from a run, with intervals
#
# Every method forecasts the radius of each input whose accuracy under noise is known (`profiles`).
# An interval allows for what is not known: which inputs these are among all, by Clopper-Pearson at
# either end, and how well their few votes tell each radius. Nothing that is certified rests on it.

Floats = NDArray[np.float64]

UNSURE_SHARE = 0.05  # how often an interval may miss
# The same of what is known of each input: inputs are wrong to either side, and much of it cancels.
UNSURE_EACH = 0.32
PROBABILITY_LEVELS = 64  # quantiles of P_A of an input
GRID = 160  # probabilities of a miss with a radius
# What forecasts of radii miss by even with many votes (docs/landscape.md), as a share of them.
FORECAST_ERROR = 0.05


@dataclass(frozen=True, slots=True)
class Expected:
    """What one method is expected to certify; `low` and `high` are the ends of intervals."""

    method: str
    radii: tuple[float, ...]
    accuracy: tuple[tuple[float, float, float], ...]  # value, low, high at each radius
    mean_radius: tuple[float, float, float]
    by_input: Floats  # the radius of each input of the rehearsal


def expected_table(
    profiles: Sequence[Profile], plan: Plan, radii: Sequence[float]
) -> list[Expected]:
    """What each method of the plan is expected to certify; those without a forecast are left out.

    Args:
        profiles: accuracy against noise norm of some of the inputs, drawn from all of them.
        plan: how the run is made.
        radii: the columns of the table.
    """
    forecasts = {name: one.forecast(profiles) for name, one in methods_of(plan).items()}
    of_curve, low, middle, high = _neyman_pearson(profiles, plan)
    found = []
    for name, forecast in forecasts.items():
        if forecast is None:
            continue
        # What is known of P_A moves the radius of every method about as that of Neyman-Pearson.
        gain = np.divide(forecast, of_curve, out=np.ones_like(low), where=of_curve > 0)
        ends = low * gain * (1 - FORECAST_ERROR), high * gain * (1 + FORECAST_ERROR)
        found.append(_expected(name, radii, middle * gain, *ends))
    return found


def _expected(
    name: str, radii: Sequence[float], middle: Floats, low: Floats, high: Floats
) -> Expected:
    size, accuracy = len(middle), []
    for radius in radii:
        at = max(radius, 1e-300)
        counts = [int(np.count_nonzero(column >= at)) for column in (middle, low, high)]
        accuracy.append(
            (
                counts[0] / size,
                clopper_pearson_lower(counts[1], size, UNSURE_SHARE / 2),
                clopper_pearson_upper(counts[2], size, UNSURE_SHARE / 2),
            )
        )
    columns = np.column_stack([low, high])
    lower, upper = interval(resampled_means(columns, Resampling()), 1 - UNSURE_SHARE)
    mean = float(middle.mean()), float(lower[0]), float(upper[1])
    return Expected(name, tuple(radii), tuple(accuracy), mean, middle)


def _neyman_pearson(
    profiles: Sequence[Profile], plan: Plan
) -> tuple[Floats, Floats, Floats, Floats]:
    """Neyman-Pearson radii of each input: that of its profile, then low, mean and high given votes.

    The votes of an input say how P_A is distributed for it, together with a Beta law of P_A over
    inputs that is fitted to all of them (empirical Bayes): where most inputs have P_A near 1, one
    whose few votes all agree has, too.
    """
    shares = np.array([probability(profile, plan.law) for profile in profiles])
    votes = np.array([profile.votes for profile in profiles], dtype=np.float64)
    hits = np.round(shares * votes)
    a, b = _beta_law(hits, votes)
    levels = (np.arange(PROBABILITY_LEVELS) + 0.5) / PROBABILITY_LEVELS
    possible = stats.beta.ppf(levels[None], (hits + a)[:, None], (votes - hits + b)[:, None])
    radii = _radii_of(1 - possible, plan)
    low, high = np.quantile(radii, [UNSURE_EACH / 2, 1 - UNSURE_EACH / 2], axis=1)
    return _radii_of(1 - shares, plan), low, radii.mean(axis=1), high


def _radii_of(misses: Floats, plan: Plan) -> Floats:
    """The Neyman-Pearson radius at the expected votes, for each probability of a miss."""
    grid = np.concatenate([[0.0], np.logspace(-7, math.log10(0.5), GRID)])
    seen = expected_hits(grid, plan.n).astype(np.int64)
    unproved = 1 - np.asarray(clopper_pearson_lower(seen, plan.n, plan.alpha))
    return np.interp(misses, grid, neyman_pearson_radius(plan.law, unproved))


def _beta_law(hits: Floats, votes: Floats) -> tuple[float, float]:
    """The Beta law of P_A over inputs under which these votes are the most likely."""

    def unlikely(logs: Floats) -> float:
        a, b = np.exp(logs)
        terms = special.betaln(hits + a, votes - hits + b) - special.betaln(a, b)
        return -float(terms.sum())

    limits = [(math.log(0.05), math.log(20.0))] * 2
    found = optimize.minimize(unlikely, np.zeros(2), bounds=limits, method="L-BFGS-B")
    a, b = np.exp(found.x)
    return float(a), float(b)


# ---- A few votes of a few inputs before a run: what a vote costs, and what the model knows
#
# The votes have a seed of their own. They choose how the run is made, and votes that choose must
# not certify as well, or alpha would not hold.

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
