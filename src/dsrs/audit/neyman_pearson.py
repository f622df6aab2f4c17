"""The radius that P alone proves, where no proof of it is written down.

Any multiplier proves; the best one has P[R] = P-, which is searched roughly. B is concave in it, so
three values around the best one bound all others from above: that refutes.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dsrs.audit.angle import angle_of
from dsrs.audit.balls import arb, bits, exact, lesser
from dsrs.audit.bound import enclosed_bound
from dsrs.audit.claims import Claim
from dsrs.audit.counts import STANDARD_NORMAL
from dsrs.audit.curve import Term, crossing_on, ratio_on
from dsrs.audit.gaussian import demand_alone
from dsrs.audit.kinds import Proof
from dsrs.audit.limits import Budget
from dsrs.audit.mixture import Mixture
from dsrs.audit.shells import Shells
from dsrs.audit.verdicts import Refuted, Undecided
from dsrs.audit.weights import ends_of, smoothing_law

MULTIPLIER_POINTS = 60
ASIDE = 1e-3  # ln of the multipliers on both sides
MULTIPLIER_ROUNDS = 4
GOLDEN = (math.sqrt(5) - 1) / 2
SECTIONS_WIDTH, MOST_SECTIONS = 0.04, 34  # of the logarithm of multipliers


def check_alone(claim: Claim, proof: Proof, shells: Shells) -> None:
    """Raise unless the lower bound of P_A alone proves the Neyman-Pearson radius of a claim."""
    if not claim.np_radius:
        return
    if proof.p_lower is None:
        raise Refuted("it claims a Neyman-Pearson radius, and knows nothing of P_A")
    if math.isinf(claim.np_radius):
        if proof.p_lower != 1:
            raise Refuted("an infinite radius needs a class that is never wrong")
        return
    radius = claim.beyond_move(claim.np_radius)
    if not (proof.uses_p_alone and proof.steps[0].radius >= radius):
        _check(shells, proof.p_lower, radius)


def _check(shells: Shells, lower: float, radius: Fraction) -> None:
    """Raise unless P_A >= lower proves `radius`."""
    what = f"the Neyman-Pearson radius {float(radius)!r}"
    if lower == 1:
        return
    if lower <= 0.5:
        raise Refuted(f"{what} does not follow from P_A >= {lower!r}")
    if shells.gaussian:
        demand_alone(lower, exact(radius) / shells.sigma, what)
        return
    log = _best_log_multiplier(shells, lower, radius)
    if shells.norm != "l2":
        _check_by_sections(shells, lower, radius, log)
        return
    for _ in range(MULTIPLIER_ROUNDS):
        best = _bound(shells, lower, radius, log)
        if best > exact(0.5):
            return
        left, right = (_bound(shells, lower, radius, log + aside) for aside in (-ASIDE, ASIDE))
        # Beyond a side a concave function falls; towards it it stays under the line from the other.
        most = best.upper() + (best.upper() - lesser(left, right).lower()) * arb(1.01)
        if left < best and right < best and most < 0.5:
            raise Refuted(f"{what} is too large: P alone proves at most {float(most)!r} there")
        # On to the vertex of the parabola through the three.
        bend = float(2 * best - left - right)
        log += 0.5 * ASIDE * float(right - left) / bend if bend > 0 else 0.0
    raise Undecided(f"{what} gives a bound that is only known to be {best}")


def _check_by_sections(shells: Shells, lower: float, radius: Fraction, log: float) -> None:
    """Raise unless some multiplier near e^log proves `radius`: golden sections.

    In other norms B may have a corner at the best multiplier.
    """
    what = f"the Neyman-Pearson radius {float(radius)!r}"
    low, high = log - SECTIONS_WIDTH, log + SECTIONS_WIDTH
    inner, outer = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    values = [_bound(shells, lower, radius, at) for at in (low, inner, outer, high)]
    for _ in range(MOST_SECTIONS):
        if any(value > exact(0.5) for value in values):
            return
        if values[1] >= values[2] or float(values[1]) > float(values[2]):
            high, outer, inner = outer, inner, outer - GOLDEN * (outer - low)
            values = [values[0], _bound(shells, lower, radius, inner), *values[1:3]]
        else:
            low, inner, outer = inner, outer, inner + GOLDEN * (high - inner)
            values = [*values[1:3], _bound(shells, lower, radius, outer), values[3]]
        # Of three points with the greatest between the others, B is below the lines beyond: the
        # parts between are as golden sections, in multipliers nearly as in their logarithms.
        best = max(values[1:3], key=float)
        least = min((values[0], values[3]), key=float)
        inside = values[0] < best and values[3] < best
        most = best.upper() + (best.upper() - least.lower()) * 4
        if inside and most < 0.5:
            raise Refuted(f"{what} is too large: P alone proves at most {float(most)!r} there")
    raise Undecided(f"{what} gives a bound that is only known to be {best}")


def _bound(shells: Shells, lower: float, radius: Fraction, log: float) -> arb:
    mixture = Mixture(shells, (math.exp(log),), (smoothing_law(),))
    return enclosed_bound(mixture, [(lower, 1.0)], radius, Budget()).value


def _best_log_multiplier(shells: Shells, lower: float, radius: Fraction) -> float:
    """About ln of the multiplier with P[R] = lower: regula falsi in normal scores."""
    target = STANDARD_NORMAL.inv_cdf(lower)
    ratio = float(radius) / float(shells.sigma)
    x = ratio * max(target - ratio / 2, 0.0)
    miss = _score(shells, radius, x) - target
    other = x + (0.1 * ratio if miss < 0 else -0.1 * ratio)
    for _ in range(30):
        other_miss = _score(shells, radius, other) - target
        if abs(other_miss) < 1e-9 or other_miss == miss:
            return other
        step = other_miss * (other - x) / (other_miss - miss)
        x, miss, other = other, other_miss, other - step
    return other


def _score(shells: Shells, radius: Fraction, log: float) -> float:
    """The normal score of P[R] for this multiplier: the trapezoid rule on shells."""
    low, high = (float(end) for end in ends_of(smoothing_law().pieces[0], shells, 36.0))
    terms = [Term(exact(log).exp(), smoothing_law().pieces[0])]
    rho, angle = exact(radius) / shells.scale, angle_of(shells.d, bits())
    weight = share = 0.0
    for i in range(MULTIPLIER_POINTS + 1):
        u = arb(low + (high - low) * i / MULTIPLIER_POINTS)
        t = shells.gamma(u)
        density = float(shells.log_density(u, t).exp())
        weight += density
        log_ratio = ratio_on(shells, terms, u, t).log
        crossing = None if log_ratio is None else crossing_on(shells, u, t, log_ratio)
        if crossing is None:
            share += density  # all of the shell is in R
            continue
        h = shells.half_square(u)
        climb = -(h * (crossing.e * shells.power).expm1()) / rho
        share += density * (1 - float(angle.above((climb + rho / 2) / (2 * h).sqrt())))
    return STANDARD_NORMAL.inv_cdf(min(max(share / weight, 1e-15), 1 - 1e-15))
