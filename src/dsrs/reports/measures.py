"""The numbers of a report: certified accuracy, average radius, clean accuracy, abstention.

They are defined in `dsrs.measures`. Clean accuracy is the share of right predictions; what is
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

from dsrs.confidence import Estimate, Floats, Resampling, draw_counts, interval, resampled_means
from dsrs.errors import InvalidInput, StoreMismatch
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


# ---- The upper envelope over sigma: at each radius the best of several models
#
# The paper (Section 6, after Cohen et al. 2019) reports the highest certified accuracy among models
# trained at different sigma. Runs of one family are compared on the inputs that all of them have; a
# resample draws the same inputs for all of them, and takes the maximum again.


@dataclass(frozen=True, slots=True)
class Envelope:
    """Certified accuracy of the best run at each radius, for each method, and the gains."""

    family: str
    runs: tuple[RunSummary, ...]
    radii: tuple[float, ...]
    methods: dict[str, tuple[Estimate, ...]]
    gains: dict[str, tuple[Estimate, ...]]

    @property
    def size(self) -> int:
        """Number of inputs that all runs have."""
        return self.runs[0].size


def sigma_families(runs: Sequence[RunSummary]) -> dict[str, tuple[RunSummary, ...]]:
    """Families with runs at two or more sigma, each run with the inputs that all of them have."""
    grouped: dict[str, list[RunSummary]] = {}
    for run in runs:
        if run.law is not None and run.family is not None:
            grouped.setdefault(run.family, []).append(run)
    shared = {
        family: _shared_inputs(family, members)
        for family, members in grouped.items()
        if len({run.law.sigma for run in members if run.law}) > 1
    }
    return {family: members for family, members in shared.items() if members}


def shared_methods(runs: Sequence[RunSummary]) -> tuple[str, ...]:
    """The methods that all of these runs have."""
    return tuple(m for m in runs[0].methods if all(m in run.methods for run in runs))


def envelopes(
    runs: Sequence[RunSummary], radii: Sequence[float], resampling: Resampling
) -> tuple[Envelope, ...]:
    """One envelope for each family that has runs at two or more sigma."""
    grid = checked_radii(radii)
    return tuple(
        _envelope(family, members, grid, resampling)
        for family, members in sigma_families(runs).items()
    )


def _shared_inputs(family: str, runs: Sequence[RunSummary]) -> tuple[RunSummary, ...]:
    """The runs with their common inputs; none where there are none and nobody named the family."""
    common = frozenset[int].intersection(
        *(frozenset(outcome.index for outcome in run.outcomes) for run in runs)
    )
    if not common and not family:
        return ()
    if not common:
        names = ", ".join(repr(run.name) for run in runs)
        raise StoreMismatch(
            f"the runs {names} of the family {family!r} have no input in common, so there is no "
            "envelope over them; put them into different families"
        )
    return tuple(run.among(common) for run in runs)


def _envelope(
    family: str, runs: tuple[RunSummary, ...], radii: tuple[float, ...], resampling: Resampling
) -> Envelope:
    shared = shared_methods(runs)
    grid = np.asarray(radii)
    certified = {  # method -> (run, input, radius), 0 or 1
        method: np.stack(
            [run.proved_radii(method)[:, None] >= grid[None, :] for run in runs]
        ).astype(np.float64)
        for method in shared
    }
    best = {method: cells.sum(axis=1).max(axis=0) for method, cells in certified.items()}
    drawn: dict[str, list[Floats]] = {method: [] for method in shared}
    for counts in draw_counts(runs[0].size, resampling):
        for method, cells in certified.items():
            drawn[method].append(np.max([counts @ run for run in cells], axis=0))
    samples = {method: np.concatenate(blocks) for method, blocks in drawn.items()}
    size, confidence = runs[0].size, resampling.confidence
    return Envelope(
        family=family,
        runs=runs,
        radii=radii,
        methods={m: _estimates(best[m], samples[m], size, confidence) for m in shared},
        gains={
            m: _estimates(
                best[m] - best[BASELINE], samples[m] - samples[BASELINE], size, confidence
            )
            for m in shared
            if BASELINE in shared and m != BASELINE
        },
    )


def _estimates(
    counts: Floats, samples: Floats, size: int, confidence: float
) -> tuple[Estimate, ...]:
    low, high = interval(samples, confidence)
    return tuple(
        Estimate(*(Fraction(int(end), size) for end in ends))
        for ends in zip(counts, low, high, strict=True)
    )
