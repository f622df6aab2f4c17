"""First-order smoothing (docs/math.md 12): a bound of the gradient beside that of the probability.

A method, a kind of proof and a tally of votes, from outside of the package: `register` of
this module makes `first-order` known to plans, runs and certificates.

The proof, for Gaussian P. Let P_A >= p > 1/2 and |sigma grad P_A| <= G. At the shift r u the least
probability of the class is a problem in w = <z, u> alone: minimise E[f exp(rho w - rho^2/2)],
rho = r / sigma, over 0 <= f <= 1 with E f >= p and E[f w] >= -G. For multipliers l, m >= 0 weak
duality gives

    p_true(x + r u) >= B = l p - m G - E[(l + m w - exp(rho w - rho^2/2))+].

A line exceeds the exponential between two points a and b: the worst classifier is the slab
a < w < b. It is tight where Phi(b) - Phi(a) = p and phi(b) - phi(a) = G, conditions without rho;
p > 1/2 makes a < 0 < b, hence l, m > 0. The shifted slab Phi(b - rho) - Phi(a - rho) falls with
rho, since |b| < |a|: B > 1/2 at one radius bounds every shorter one. Where G is no less than
phi(Phi^-1(p)), the gradient of a half space, nothing is gained over Neyman-Pearson.

The bound of the gradient, from the noise of the votes that missed. With f = 1 where the vote is for
the class and noise sigma z, Stein's formula is

    sigma grad P_A = E[f z] = -E[(1 - f) z] =: g,

so the votes that missed tell of the gradient. Let g1 and g2 be the means of -(1 - f) z over two
halves of the votes, and h = |g|.

1. In the fixed direction of g the mean over half 1 has the expectation h: except with probability
   a1, <g, g1> >= h (h - t1).
2. Given half 1 the direction e of g1 is fixed, and half 2 is independent of it: except with
   probability a2, <g, e> <= <g2, e> + t2.

Together h (h - t1) <= |g1| <g, e> <= <g1, g2> + |g1| t2, a quadratic inequality for h.

t1 and t2 are deviations of a mean of Y = 1{miss} v with v standard normal. For every s > 0

    ln E exp(s (Y - E Y)) <= E[1{miss} psi(s v)],  psi(x) = e^x - 1 - x >= 0

(ln(1 + x) <= x), whatever the misses have to do with v. If a vote misses with probability at most
q, the right side is at most c q + E[(psi(s v) - c)+] for any c >= 0. That is Chernoff's bound for
both signs of s, since v is symmetric. It grows with q: an upper bound of the miss rate may stand
for q, and where that fails is counted once, with the bound of P_A.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from dsrs.confidence import clopper_pearson_lower
from dsrs.errors import DataError, InvalidInput, NotEnoughVotes
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Entry, Method, Want
from dsrs.methods import register as register_method
from dsrs.noise import NORMAL_UNITS, Stream
from dsrs.proofs import (
    CLAIM_ROUNDING,
    LARGEST_BOUND,
    Certificate,
    Claim,
    Dual,
    Interval,
    Proof,
    Step,
    certificate_of,
    find_dual,
    flaw_of_numbers,
)
from dsrs.proofs import register as register_proof
from dsrs.votes import ESTIMATION, Batch, SampledInput, Tally

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


# Differences of probabilities below are right to a few units of 1e-16.
SLACK = 1e-14


@functools.lru_cache(maxsize=4096)
def mean_deviation(votes: int, miss_rate: float, alpha: float) -> float:
    """How far the mean of `votes` copies of Y may lie from its expectation, on one side, except
    with probability alpha: the least (K(s) + ln(1/alpha)/votes) / s, for the K(s) above."""
    if votes < 1 or not 0 <= miss_rate <= 1 or not 0 < alpha < 1:
        raise InvalidInput(
            "a deviation needs votes >= 1, a miss rate in [0, 1] and alpha in (0, 1), got "
            f"{votes}, {miss_rate!r}, {alpha!r}"
        )
    if miss_rate == 0:
        return 0.0
    price = -math.log(alpha) / votes

    def at(log_s: float) -> float:
        s = math.exp(log_s)
        return (log_moment(s, miss_rate) + price) / s

    guess = 0.5 * math.log(2 * price / max(miss_rate, 1e-300))
    best = optimize.minimize_scalar(at, bounds=(guess - 6, min(guess + 6, 3.0)), method="bounded")
    return float(best.fun) * (1 + 1e-12)


def log_moment(s: float, q: float) -> float:
    """Return c q + E[(psi(s v) - c)+] with c = psi(s b), where psi > c has about the probability q.

    The other end a of the set psi(s v) > c, v < -a, is found by Newton; an error in it counts
    squared.
    """
    middle = float(-special.ndtri(min(q / 2, 0.5)))
    # psi is lopsided: its level sets reach from -middle - e to middle - e, to first order in s.
    b = max(middle * (1 - s * middle / 6), float(-special.ndtri(q)), 0.0)
    c = _psi(s * b)
    x = -s * b
    for _ in range(40):
        slope = math.expm1(x)
        step = (_psi(x) - c) / slope if slope else 0.0
        x -= step
        if abs(step) <= 1e-14 * abs(x):
            break
    a = -x / s
    growth = math.exp(s * s / 2)
    above = growth * special.ndtr(s - b) - special.ndtr(-b) - s * _density(b)
    below = growth * special.ndtr(-a - s) - special.ndtr(-a) + s * _density(a)
    outside = special.ndtr(-a) + special.ndtr(-b)
    return float(c * (q - outside) + above + below) + SLACK


def _psi(x: float) -> float:
    return (
        math.expm1(x) - x if abs(x) > 1e-3 else x * x * (0.5 + x * (1 / 6 + x * (1 / 24 + x / 120)))
    )


def gradient_bound(
    first_norm: float,
    product: float,
    votes: tuple[int, int],
    miss_rate: float,
    alpha: float,
    rounding: float = 0.0,
) -> float:
    """An upper bound of sigma |grad P_A| that fails with probability at most alpha, if no more
    than `miss_rate` of the votes miss.

    `first_norm` is |g1|, `product` is <g1, g2>; `votes` are the sizes of the two halves. Half of
    alpha is for each of the two steps above. g1 and g2 may be off by a vector of length `rounding`.
    """
    first, second = (mean_deviation(count, miss_rate, alpha / 2) + rounding for count in votes)
    above = max(product + first_norm * second, 0.0)
    return 0.5 * first + math.sqrt(0.25 * first * first + above)


FIRST_ORDER = "first-order"


@dataclass(frozen=True, slots=True)
class FirstOrder(Method):
    """n votes under P; the noise of those that miss tells of the gradient of P_A.

    Why alpha holds: half of alpha is for the lower bound of P_A (Clopper and Pearson, all votes), a
    quarter for each of the two deviations above, which take the miss rate from
    that lower bound. The certificate is wrong only if P_A or the gradient lies outside its bound,
    and then one of the three has failed.

    The noise that is added up is that before it was rounded to the grid: the classifier "round to
    the grid, classify" is a function of it. Noise that is not quite the law's changes a vote with
    probability v at most (docs/grid.md), and the mean of 1{miss} <z, u> by at most what an event of
    probability v can hold of |<z, u>|.
    """

    def check_plan(self) -> None:
        if not self.plan.law.is_gaussian or self.plan.grid is None:
            raise InvalidInput(
                f"the method {FIRST_ORDER} is for Gaussian noise (k = 0, eta = 2) on a grid, not "
                f"for {self.plan.law.describe()}"
                + (" without a grid" if self.plan.grid is None else "")
            )
        if self.plan.n < 2:
            raise InvalidInput(f"the method {FIRST_ORDER} splits n votes in halves, got n = 1")

    def want(self, seen: SampledInput) -> Want | None:
        stream = self.under_p(ESTIMATION)
        return Want(stream, self.plan.n) if seen.taken(stream) < self.plan.n else None

    def tallies(self, stream: Stream, seen: SampledInput) -> tuple[Tally, ...]:
        if stream != self.under_p(ESTIMATION):
            return ()
        assert seen.target is not None, "the class is chosen before votes are estimated from"
        return (MissedNoise(seen.target, self.plan.n, self.plan.law.d),)

    def certificate(self, seen: SampledInput) -> Certificate:
        plan = self.plan
        votes = seen.first(self.under_p(ESTIMATION), plan.n)
        if MissedNoise.name not in votes.tallies:
            raise NotEnoughVotes(
                f"the noise of the votes of input {seen.index} was not added up; sample them with "
                f"the method {FIRST_ORDER} and the same n"
            )
        slope = Slope.from_dict(votes.tallies[MissedNoise.name])
        lower = clopper_pearson_lower(votes.successes, votes.total, plan.alpha / 2)
        p = self.charged(Interval(lower, 1.0), plan.law)
        gradient = gradient_bound(
            slope.first_norm,
            slope.product,
            (slope.split, votes.total - slope.split),
            1 - p.lower,
            plan.alpha / 2,
            rounding=math.sqrt(plan.law.d) / NORMAL_UNITS,
        )
        grid = plan.known_grid
        assert grid is not None
        gradient += held_by(grid.variation(plan.law))
        proof = find_slab(plan.law, p.lower, gradient)
        return self.on_grid(certificate_of(plan.law, proof), seen)


def held_by(probability: float) -> float:
    """The most of E|v| that an event of this probability can hold, v standard normal."""
    if probability == 0:
        return 0.0
    end = float(-special.ndtri(min(probability, 1.0) / 2))
    return 2 * math.exp(-end * end / 2) / math.sqrt(2 * math.pi) * (1 + 1e-9)


@dataclass(frozen=True, slots=True)
class Slope:
    """What the noise of the votes that missed says of the gradient of P_A (docs/math.md 12).

    g1 and g2 are the means of -(1 - f) z over the votes before sample `split` and from it on:
    `first_norm` is |g1|, `product` is <g1, g2>.
    """

    split: int
    first_norm: float
    product: float

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Slope:
        """The slope that a `MissedNoise` was summarised as."""
        try:
            slope = cls(int(fields["split"]), float(fields["first_norm"]), float(fields["product"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"expected the fields of a slope ({error}), got {fields!r}") from error
        good = 0 <= slope.first_norm < math.inf and math.isfinite(slope.product)
        if slope.split < 1 or not good:
            raise DataError(f"a slope has a split, a norm and a product, got {slope}")
        return slope


@dataclass(eq=False)
class MissedNoise(Tally):
    """The normals z of those of the first n votes that miss the class, summed over each half.

    Sums are whole numbers of 1 / NORMAL_UNITS, so that they are the same in any order. They fit
    into 64 bits: |z| < 2^4, n < 2^32 and NORMAL_UNITS = 2^24.
    """

    name: ClassVar[str] = "missed-noise"

    target: int
    n: int
    d: int
    votes: int = field(init=False, default=0)
    sums: dict[int, NDArray[np.int64]] = field(init=False, default_factory=dict)  # of each half

    @property
    def split(self) -> int:
        """The number of the first vote of the second half."""
        return self.n // 2

    def add(self, batch: Batch) -> None:
        self.votes += max(0, min(len(batch.classes), self.n - batch.first))
        missed = np.flatnonzero(batch.classes != self.target) + batch.first
        middle, end = np.searchsorted(missed, (self.split, self.n))
        for half, samples in enumerate((missed[:middle], missed[middle:end])):
            if samples.size:
                batch.noise.add_normals(samples, self._sums(half))

    def merge(self, other: MissedNoise) -> None:
        self.votes += other.votes
        for half, sums in other.sums.items():
            np.add(self._sums(half), sums, out=self._sums(half))

    def summary(self) -> dict[str, Any] | None:
        """The fields of a `Slope`, once all n votes are there."""
        if self.votes < self.n:
            return None
        # Python's whole numbers are exact at any size, and the same on every machine.
        first, second = (self._sums(half).tolist() for half in (0, 1))
        square = sum(a * a for a in first)
        product = sum(a * b for a, b in zip(first, second, strict=True))
        unit, rest = int(NORMAL_UNITS), self.n - self.split
        return {
            "split": self.split,
            "first_norm": math.sqrt(square) / (self.split * unit) * (1 + 1e-15),
            "product": product / (self.split * rest * unit * unit),
        }

    def _sums(self, half: int) -> NDArray[np.int64]:
        # Made when they are needed: an empty tally is sent with every unit of work.
        if half not in self.sums:
            self.sums[half] = np.zeros(self.d, dtype=np.int64)
        return self.sums[half]


def register() -> None:
    """Make the method and its kind of proof known to commands, runs and reports."""
    register_proof(Slab)
    register_method(
        Entry(
            FIRST_ORDER,
            "first order",
            "votes under Gaussian P, with a bound of the gradient: a baseline",
            FirstOrder,
        )
    )
