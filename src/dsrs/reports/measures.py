"""The numbers of a report: certified accuracy, average radius, clean accuracy, abstention.

They are defined in `dsrs.accuracy`. Clean accuracy is the share of right predictions; what is
certified at r = 0 is less, and has a column of its own. Estimates are exact fractions, so that
rounding down is exact too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dsrs.confidence import Estimate, Floats, Resampling, interval, resampled_means
from dsrs.errors import InvalidInput
from dsrs.measures import MOST_SHOWN_RADII, certified_at, counted_radii, round_step
from dsrs.reports.summary import BASELINE, RunSummary

RADIUS_COLUMN = -2  # of `input_columns`


@dataclass(frozen=True, slots=True)
class MethodMeasures:
    """One method on one run, or the difference of a method from the baseline."""

    method: str
    certified_accuracy: tuple[Estimate, ...]
    certified_at_zero: Estimate
    average_radius: Estimate
    abstention: Estimate


@dataclass(frozen=True, slots=True)
class RunMeasures:
    """All numbers of one run; `gains` are differences from the baseline, paired by input."""

    run: RunSummary
    radii: tuple[float, ...]
    clean_accuracy: Estimate | None  # None where labels or predictions are not known
    methods: tuple[MethodMeasures, ...]
    gains: tuple[MethodMeasures, ...]
    undecided: dict[str, int]


def measure_run(run: RunSummary, radii: Sequence[float], resampling: Resampling) -> RunMeasures:
    """Every number of the report for one run."""
    grid = checked_radii(radii)
    columns = {"": run.right()[:, None].astype(np.float64)}
    columns |= {method: input_columns(run, method, grid) for method in run.methods}
    samples = _resampled(columns, resampling)  # one draw of inputs for all, so gains are paired
    clean = None
    if run.has_clean_accuracy:
        clean = estimates_of(columns[""], samples[""], resampling.confidence)[0]
    methods = tuple(
        measures_of(method, columns[method], samples[method], resampling.confidence)
        for method in run.methods
    )
    gains = tuple(
        measures_of(
            method,
            columns[method] - columns[BASELINE],
            samples[method] - samples[BASELINE],
            resampling.confidence,
        )
        for method in run.challengers
    )
    undecided = {method: int(run.has_status(method, "undecided").sum()) for method in run.methods}
    return RunMeasures(run, grid, clean, methods, gains, undecided)


def checked_radii(radii: Sequence[float]) -> tuple[float, ...]:
    """The grid of radii, if it can be one."""
    if not radii:
        raise InvalidInput("at least one radius is needed")
    for radius in radii:
        if not (math.isfinite(radius) and radius >= 0):
            raise InvalidInput(f"a radius must be a number >= 0, got {radius!r}")
    if any(after <= before for before, after in itertools.pairwise(radii)):
        raise InvalidInput(f"radii must increase, got {', '.join(f'{r:g}' for r in radii)}")
    return tuple(float(radius) for radius in radii)


def default_radii(runs: Sequence[RunSummary]) -> tuple[float, ...]:
    """A grid of round steps that covers all certified radii with at most 12 columns."""
    largest = max(
        outcome.radius(method) for run in runs for method in run.methods for outcome in run.outcomes
    )
    if not largest > 0:
        return (0.0,)
    step = round_step(largest, MOST_SHOWN_RADII + 1)
    return tuple(round(step * i, 12) for i in range(1, max(1, math.floor(largest / step)) + 1))


def input_columns(run: RunSummary, method: str, grid: Sequence[float]) -> Floats:
    """One row an input: certified at each radius and at 0 (0 or 1), radius, abstained (0 or 1)."""
    proved = run.proved_radii(method)
    certified = certified_at(proved, [*grid, 0.0])
    abstained = run.has_status(method, "abstained")
    return np.column_stack([certified, counted_radii(proved), abstained]).astype(np.float64)


def _resampled(columns: dict[str, Floats], resampling: Resampling) -> dict[str, Floats]:
    """The resampled means of each block of columns, all from the same resamples."""
    means = resampled_means(np.hstack(list(columns.values())), resampling)
    stops = np.cumsum([block.shape[1] for block in columns.values()])[:-1]
    return dict(zip(columns, np.split(means, stops, axis=1), strict=True))


def measures_of(method: str, columns: Floats, samples: Floats, confidence: float) -> MethodMeasures:
    *certified, at_zero, radius, abstained = estimates_of(columns, samples, confidence)
    return MethodMeasures(method, tuple(certified), at_zero, radius, abstained)


def estimates_of(columns: Floats, samples: Floats, confidence: float) -> list[Estimate]:
    size = len(columns)
    low, high = interval(samples, confidence)
    estimates = []
    for c in range(columns.shape[1]):
        values = [Fraction(value) for value in columns[:, c].tolist()]
        whole = all(value.denominator == 1 for value in values)
        ends = [_end(end, size, whole) for end in (float(low[c]), float(high[c]))]
        estimates.append(Estimate(sum(values, Fraction()) / size, ends[0], ends[1]))
    return estimates


def _end(end: float, size: int, whole: bool) -> Fraction:
    # The mean of whole numbers is a count over the size; a float would round to its side.
    return Fraction(round(end * size), size) if whole else Fraction(end)
