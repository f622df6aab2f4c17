"""The upper envelope over sigma: at each radius the best of several models.

The paper (Section 6, after Cohen et al. 2019) reports the highest certified accuracy among models
trained at different sigma. Runs of one family are compared on the inputs that all of them have;
a resample draws the same inputs for all of them, and takes the maximum again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dsrs.confidence import Estimate, Floats, Resampling, draw_counts, interval
from dsrs.errors import StoreMismatch
from dsrs.reports.measures import checked_radii
from dsrs.reports.summary import BASELINE, RunSummary


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
