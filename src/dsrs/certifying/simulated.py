"""An input as its profile foretells it: the votes that a plan would take, without a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.landscape.profile import Profile
from dsrs.laws.bins import HISTOGRAM_BINS
from dsrs.methods import Plan, Session
from dsrs.noise.stream import radial_edges
from dsrs.votes.collect import WorkUnit
from dsrs.votes.records import SampledInput
from dsrs.votes.tally import Counts

Floats = NDArray[np.floating[Any]]

QUANTILES = 4096  # of noise norms, by which votes fall into bins


def simulated_input(profile: Profile, plan: Plan, labelled: bool = True) -> SampledInput:
    """The votes of an input with this profile, every count as expected.

    The methods of the plan decide as they would of real votes, so that this tells what a run will
    cost. Class 0 stands for the class of the profile.
    """
    session, rows = Session(plan, 0, 0 if labelled else None), 0
    while (unit := session.next()) is not None:
        session.add(unit, expected_counts(profile, unit))
        rows += unit.rows(plan.batch)
    return session.finish(0.0, rows)


def expected_counts(profile: Profile, unit: WorkUnit) -> Counts:
    """The counts of a unit by noise norm, for class 0 and for another one; they add up exactly."""
    count = unit.stop - unit.first
    norms = unit.stream.law.radial_quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    bins = np.searchsorted(radial_edges(unit.stream.base), norms).clip(0, HISTOGRAM_BINS - 1)
    trials = _whole(np.bincount(bins, minlength=HISTOGRAM_BINS) * (count / QUANTILES))
    right = np.bincount(bins, profile(norms), HISTOGRAM_BINS) * (count / QUANTILES)
    hits = np.clip(_whole(right), 0, trials)
    return Counts(np.stack([hits, trials - hits]), unit.tallies)


def _whole(expected: Floats) -> NDArray[np.int64]:
    """Whole numbers whose partial sums are the nearest to those of the expected ones."""
    sums = np.round(np.cumsum(expected)).astype(np.int64)
    return np.diff(sums, prepend=np.int64(0))
