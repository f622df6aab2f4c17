"""First-order certificates: a bound of the gradient beside that of the probability.

For Gaussian P (docs/math.md 12).

Let P_A >= p > 1/2 and |sigma grad P_A| <= G. At the shift r u the least probability of the class is
a problem in w = <z, u> alone: minimise E[f exp(rho w - rho^2/2)], rho = r / sigma, over 0 <= f <= 1
with E f >= p and E[f w] >= -G. For multipliers l, m >= 0 weak duality gives

    p_true(x + r u) >= B = l p - m G - E[(l + m w - exp(rho w - rho^2/2))+].

A line exceeds the exponential between two points a and b: the worst classifier is the slab
a < w < b. It is tight where Phi(b) - Phi(a) = p and phi(b) - phi(a) = G, conditions without rho;
p > 1/2 makes a < 0 < b, hence l, m > 0. The shifted slab Phi(b - rho) - Phi(a - rho) falls with
rho, since |b| < |a|: B > 1/2 at one radius bounds every shorter one. Where G is no less than
phi(Phi^-1(p)), the gradient of a half space, nothing is gained over Neyman-Pearson.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from scipy import special

from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs.base import CLAIM_ROUNDING, LARGEST_BOUND, Claim, Proof, Step, flaw_of_numbers
from dsrs.proofs.dual import Dual, find_dual
from dsrs.proofs.interval import Interval

BISECTIONS = 200
# Multipliers and shifts (of sigma) of proofs lie well within these: p is 1 - 2^-53 at most. Beyond,
# points where line and exponential meet would be too far away to be found.
LEAST_MULTIPLIER, MOST_MULTIPLIER, LONGEST_SLAB_SHIFT = 1e-20, 1e20, 40.0
# How much less than the searched radius is claimed, of sigma: tried in turn until the proof holds.
MARGINS = (1e-13, 1e-11, 1e-9, 1e-7, 1e-5)


@dataclass(frozen=True, slots=True)
class Slab(Proof):
    """P_A >= `p_lower` and sigma |grad P_A| <= `gradient`, under Gaussian P.

    `step` has the multipliers l and m of the two bounds.
    """

    p_lower: float
    gradient: float
    step: Step

    kind: ClassVar[str] = "slab"
    claim: ClassVar[Claim] = "majority"

    @property
    def reach(self) -> float:
        return self.step.radius

    @property
    def known_of_p(self) -> Interval:
        return Interval(self.p_lower, 1.0)

    @property
    def outermost(self) -> Step | None:
        return self.step

    def columns(self) -> dict[str, Any]:
        return Proof.columns(self) | {"gradient": self.gradient}

    def flaw(self, law: GeneralizedGaussian) -> str | None:
        if not law.is_gaussian:
            return f"a proof from the gradient is for Gaussian noise, not for {law.describe()}"
        if not (0 <= self.p_lower <= 1 and self.gradient >= 0):
            return "a proof from the gradient has a probability, and a gradient of 0 or more"
        flaw = flaw_of_numbers((self.step,), 2)
        if flaw is not None:
            return flaw
        step = self.step
        ratio = step.radius / law.sigma
        value = first_order_bound(self.p_lower, self.gradient, step.multipliers, ratio)
        if not value > 0.5:
            return f"the step at {step.radius!r} proves {value:.12g} only"
        if value > LARGEST_BOUND:
            return "the proof gives more than 1: no classifier has this probability and gradient"
        if not step.dual_bound <= value + CLAIM_ROUNDING:
            return f"the step at {step.radius!r} claims {step.dual_bound!r}, but proves {value!r}"
        return None


def find_slab(law: GeneralizedGaussian, p_lower: float, gradient: float) -> Slab | Dual:
    """The largest radius from P_A >= p_lower and sigma |grad P_A| <= gradient, under Gaussian P.

    Where the gradient adds nothing to Neyman and Pearson's radius, that is proved instead.
    """
    if not law.is_gaussian:
        raise InvalidInput(
            f"the first-order certificate is for Gaussian noise (k = 0, eta = 2), not for "
            f"{law.describe()}"
        )
    alone = find_dual(law, Interval(p_lower, 1.0)).proof
    if not 0.5 < p_lower < 1 or not 0 <= gradient < _density(float(special.ndtri(p_lower))):
        return alone
    a, b = _slab(p_lower, gradient)
    reach = _reach(a, b)
    for margin in MARGINS:
        rho = reach * (1 - margin) - margin
        if rho * law.sigma <= alone.reach:
            break
        multipliers = _line(a, b, rho)
        value = first_order_bound(p_lower, gradient, multipliers, rho)
        if value > 0.5:
            radius = math.nextafter(rho * law.sigma * (1 - 1e-15), 0.0)
            return Slab(p_lower, gradient, Step(radius, multipliers, value))
    return alone


def first_order_bound(
    p_lower: float, gradient: float, multipliers: tuple[float, ...], rho: float
) -> float:
    """B for these multipliers (l, m) at shift rho sigma, rounded down; -inf for useless ones."""
    level, slope = multipliers
    if not (
        LEAST_MULTIPLIER < level < MOST_MULTIPLIER
        and LEAST_MULTIPLIER < slope < MOST_MULTIPLIER
        and LEAST_MULTIPLIER < rho < LONGEST_SLAB_SHIFT
    ):
        return -math.inf
    if not 0.5 < p_lower < 1:
        # Only then is the bound known to fall with the shift.
        return -math.inf
    # Where the line is highest above the exponential.
    top = (math.log(slope / rho) + rho * rho / 2) / rho
    if not level + slope * top > slope / rho:
        return -math.inf
    # The exponential meets the line left of where the line is 0, and far enough to the right.
    a = _meeting(level, slope, rho, -level / slope, top)
    b = _meeting(level, slope, rho, _beyond(level, slope, rho, top), top)
    inside = float(special.ndtr(b) - special.ndtr(a))
    tilt = _density(b) - _density(a)
    shifted = float(special.ndtr(b - rho) - special.ndtr(a - rho))
    value = level * (p_lower - inside) - slope * (gradient - tilt) + shifted
    return value - 1e-14 * (1 + level + slope)


def _meeting(level: float, slope: float, rho: float, outer: float, inner: float) -> float:
    """Where the line meets the exponential, between a point where it is below and one above.

    B is evaluated with the points found, and an error in them counts squared.
    """

    def is_below(w: float) -> bool:
        return level + slope * w < math.exp(min(rho * w - rho * rho / 2, 700.0))

    return _halved(outer, inner, is_below)[1]


def _beyond(level: float, slope: float, rho: float, top: float) -> float:
    """A point right of `top` where the exponential exceeds the line."""
    step = 1.0 + 1.0 / rho
    while level + slope * (top + step) > math.exp(min(rho * (top + step) - rho * rho / 2, 700.0)):
        step *= 2
    return top + step


def _slab(p_lower: float, gradient: float) -> tuple[float, float]:
    """Return a < 0 < b with Phi(b) - Phi(a) = p and phi(b) - phi(a) = G."""
    miss = 1 - p_lower

    def ends(share: float) -> tuple[float, float]:
        """The slab with this share of the miss below it."""
        return float(special.ndtri(share * miss)), float(-special.ndtri((1 - share) * miss))

    def is_steeper(share: float) -> bool:
        a, b = ends(share)
        return _density(b) - _density(a) > gradient

    return ends(_halved(0.0, 0.5, is_steeper)[1])


def _reach(a: float, b: float) -> float:
    """Where the shifted slab falls to 1/2."""
    return _halved(0.0, b, lambda rho: special.ndtr(b - rho) - special.ndtr(a - rho) > 0.5)[0]


def _halved(low: float, high: float, is_low: Callable[[float], bool]) -> tuple[float, float]:
    """Return neighbouring numbers between which `is_low`, true at `low`, becomes false."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if is_low(middle):
            low = middle
        else:
            high = middle
    return low, high


def _line(a: float, b: float, rho: float) -> tuple[float, float]:
    """Return (l, m) of the line that meets the likelihood ratio at a and b."""
    left, right = (math.exp(rho * w - rho * rho / 2) for w in (a, b))
    slope = (right - left) / (b - a)
    return left - slope * a, slope


def _density(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
