"""Two runs over the inputs that both have: what the new one gains, and on which inputs.

The difference is taken input by input, and its bootstrap interval draws inputs, so it is paired:
what makes an input easy or hard for both models cancels.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dsrs.confidence import Estimate, Floats, Resampling, interval, resampled_means
from dsrs.errors import InvalidInput, StoreMismatch
from dsrs.measures import certified_at
from dsrs.reports.measures import (
    RADIUS_COLUMN,
    MethodMeasures,
    RunMeasures,
    checked_radii,
    default_radii,
    estimates_of,
    input_columns,
    measure_run,
    measures_of,
    shared_methods,
)
from dsrs.reports.reading import as_summary, check_comparable
from dsrs.reports.summary import RunSummary


@dataclass(frozen=True, slots=True)
class Changed:
    """The inputs, by index, that only one of two runs certifies at a radius."""

    radius: float
    gained: tuple[int, ...]  # certified by the new run alone
    lost: tuple[int, ...]  # certified by the old run alone


@dataclass(frozen=True, slots=True)
class MethodGain:
    """What one method certifies more in the new run, and where; `changes` begins at radius 0.

    `ratio` is the new average radius divided by the old one; None where a resample of the inputs
    has an old average of 0.
    """

    method: str
    gain: MethodMeasures
    ratio: Estimate | None
    changes: tuple[Changed, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs over their common inputs; `sizes` are their own numbers of inputs."""

    old: RunMeasures
    new: RunMeasures
    sizes: tuple[int, int]
    resampling: Resampling
    clean: Estimate | None  # None where labels or predictions are not known
    methods: tuple[MethodGain, ...]

    @property
    def size(self) -> int:
        """Number of common inputs."""
        return self.new.run.size

    @property
    def radii(self) -> tuple[float, ...]:
        """The grid of radii."""
        return self.new.radii

    @property
    def runs(self) -> tuple[RunSummary, RunSummary]:
        """The old run and the new one, with their common inputs."""
        return self.old.run, self.new.run


def compare(
    old: RunSummary | str | os.PathLike[str],
    new: RunSummary | str | os.PathLike[str],
    radii: Sequence[float] | None = None,
    method: str | None = None,
    resampling: Resampling | None = None,
) -> Comparison:
    """Compare two runs over the inputs that both have.

    Args:
        old: a run that was certified or read, a run folder or a table: what the gains are counted
            from.
        new: the same of what is compared with it.
        radii: where certified accuracy is compared; by default a round grid.
        method: one method alone, such as `np`; by default all that both runs have.
        resampling: of the bootstrap.

    Raises:
        StoreMismatch: they certify different data, or have no input in common.
        InvalidInput: they have no method in common, or not this one.
    """
    first, second = (as_summary(run) for run in (old, new))
    check_comparable([first, second], distinct=False)
    common = common_inputs(first, second)
    if not common:
        raise StoreMismatch(
            f"{first.name} and {second.name} have no input in common, so they cannot be compared; "
            "certify the same inputs in both"
        )
    drawing = resampling or Resampling()
    pair = first.among(common), second.among(common)
    grid = checked_radii(radii if radii is not None else default_radii(pair))
    measured = [measure_run(run, grid, drawing) for run in pair]
    return Comparison(
        old=measured[0],
        new=measured[1],
        sizes=(first.size, second.size),
        resampling=drawing,
        clean=_clean_gain(*pair, drawing),
        methods=tuple(_gain(*pair, name, grid, drawing) for name in _methods(*pair, method)),
    )


def common_inputs(old: RunSummary, new: RunSummary) -> frozenset[int]:
    """The indices that both runs have."""
    first, second = (frozenset(outcome.index for outcome in run.outcomes) for run in (old, new))
    return first & second


def _methods(old: RunSummary, new: RunSummary, asked: str | None) -> tuple[str, ...]:
    shared = shared_methods((old, new))
    if (asked is None and shared) or asked in shared:
        return shared if asked is None else (asked,)
    both = "; ".join(f"{run.name} has {', '.join(run.methods)}" for run in (old, new))
    what = "no method in common" if asked is None else f"not both the method {asked!r}"
    raise InvalidInput(f"the runs have {what}: {both}")


def _clean_gain(old: RunSummary, new: RunSummary, resampling: Resampling) -> Estimate | None:
    if not (old.has_clean_accuracy and new.has_clean_accuracy):
        return None
    gain = (new.right().astype(np.float64) - old.right())[:, None]
    return estimates_of(gain, resampled_means(gain, resampling), resampling.confidence)[0]


def _gain(
    old: RunSummary,
    new: RunSummary,
    method: str,
    grid: tuple[float, ...],
    resampling: Resampling,
) -> MethodGain:
    columns = [input_columns(run, method, grid) for run in (old, new)]
    difference = columns[1] - columns[0]
    samples = resampled_means(difference, resampling)
    radii = (0.0, *(radius for radius in grid if radius > 0))
    before, after = (certified_at(run.proved_radii(method), radii) for run in (old, new))
    indices = [outcome.index for outcome in new.outcomes]

    def listed(changed: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> tuple[int, ...]:
        return tuple(index for index, is_so in zip(indices, changed, strict=True) if is_so)

    return MethodGain(
        method,
        measures_of(method, difference, samples, resampling.confidence),
        _ratio(columns[0][:, RADIUS_COLUMN], columns[1][:, RADIUS_COLUMN], resampling),
        tuple(
            Changed(radius, listed(is_new & ~was), listed(was & ~is_new))
            for radius, was, is_new in zip(radii, before.T, after.T, strict=True)
        ),
    )


def _ratio(old: Floats, new: Floats, resampling: Resampling) -> Estimate | None:
    """The ratio of the means of two columns, over the same inputs in each resample."""
    means = resampled_means(np.column_stack([old, new]), resampling)
    if not means[:, 0].all():
        return None
    low, high = interval(means[:, 1:] / means[:, :1], resampling.confidence)
    total = [sum(map(Fraction, column.tolist()), Fraction()) for column in (old, new)]
    return Estimate(total[1] / total[0], Fraction(float(low[0])), Fraction(float(high[0])))
