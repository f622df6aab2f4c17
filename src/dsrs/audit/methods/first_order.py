"""The method `first-order`: votes under Gaussian P, a bound of P_A and one of its gradient."""

from __future__ import annotations

from dsrs.audit.balls import exact
from dsrs.audit.counts import lower_holds
from dsrs.audit.gradient import gradient_bound, held_by
from dsrs.audit.kinds import Slab
from dsrs.audit.methods.ballots import ESTIMATION
from dsrs.audit.methods.context import VoteContext, demand
from dsrs.audit.verdicts import Refuted, Undecided

NORMAL_UNITS = 2**24  # sums of noise are whole numbers of this part of 1
SEARCHED = 1e-6  # how well the best deviation of a gradient is found, of its size


def check_first_order(seen: VoteContext) -> None:
    """Raise unless the bounds follow: half of alpha for P_A, a quarter for each deviation."""
    proof, n, alpha = seen.proof, seen.plan.n, seen.plan.exact_alpha
    charge, count = seen.charge(None), seen.ballots.first(ESTIMATION, None, n)
    # Where the gradient adds nothing, the radius is Neyman and Pearson's.
    lower = proof.lower if isinstance(proof, Slab) else seen.only_interval(None).lower
    answer = lower_holds(lower, count.hits, count.total, alpha / 2, charge)
    demand([answer], f"the lower bound {lower!r}")
    if not isinstance(proof, Slab):
        return
    slope = count.slope
    if slope is None or slope.split != n // 2:
        raise Refuted("the noise of the votes was not added up in halves")
    needed = gradient_bound(
        slope.first_norm,
        slope.product,
        (slope.split, n - slope.split),
        1 - exact(proof.lower),
        exact(alpha / 2),
        exact(seen.claim.law.d).sqrt() / NORMAL_UNITS,
    )
    needed += held_by(charge)
    if exact(proof.gradient) < needed * (1 - exact(SEARCHED)):
        raise Refuted(f"the gradient {proof.gradient!r} does not follow from the votes")
    if not exact(proof.gradient) >= needed:
        raise Undecided(f"the gradient may be {float(needed)!r}, not {proof.gradient!r}")
