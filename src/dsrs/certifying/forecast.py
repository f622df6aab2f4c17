"""The table to expect from a run, with intervals, before it is made.

Every method forecasts the radius of each input whose accuracy under noise is known (`profiles`).
An interval allows for what is not known: which inputs these are among all, by Clopper-Pearson at
either end, and how well their few votes tell each radius. Nothing that is certified rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from dsrs.confidence import (
    Resampling,
    clopper_pearson_lower,
    clopper_pearson_upper,
    interval,
    resampled_means,
)
from dsrs.landscape import Profile, expected_hits, neyman_pearson_radius, probability
from dsrs.methods import Plan, methods_of

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
