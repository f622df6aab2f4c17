"""Gaussian P alone: B in closed form (docs/math.md 8)."""

from __future__ import annotations

from dsrs.audit.balls import arb, exact
from dsrs.audit.verdicts import Refuted, Undecided


def normal_below(z: arb) -> arb:
    """The distribution function of the standard normal law."""
    return (-z / arb(2).sqrt()).erfc() / 2


def normal_density(z: arb) -> arb:
    """The density of the standard normal law."""
    return (-z * z / 2).exp() / (2 * arb.pi()).sqrt()


def demand_alone(lower: float, ratio: arb, what: str) -> None:
    """Raise unless P_A >= lower proves a radius of `ratio` times sigma: unless it is at most the
    quantile of `lower`."""
    needed = normal_below(ratio)
    if not needed <= exact(lower):
        word = Refuted if needed > exact(lower) else Undecided
        raise word(f"{what} needs P_A > {float(needed)!r}")


def gaussian_bound(lower: float, multiplier: float, ratio: arb) -> arb:
    """B for the multiplier of P at a shift of `ratio` = r/sigma, with P_A >= lower."""
    z = exact(multiplier).log() / ratio + ratio / 2
    gain = exact(multiplier) * (normal_below(-z) - (1 - exact(lower)))
    return gain + normal_below(z - ratio)
