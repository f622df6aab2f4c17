"""An input as its profile foretells it: the votes that a plan takes, without a model."""

from __future__ import annotations

import numpy as np

from dsrs.landscape import Profile
from dsrs.laws import HISTOGRAM_BINS
from dsrs.methods import Plan, Session
from dsrs.noise import radial_edges
from dsrs.votes import Counts, SampledInput, WorkUnit

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
