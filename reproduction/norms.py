"""Noise that is round in l1 or l-infinity (appendix F.3): radii from P alone, and with another law.

The density at x is proportional to |x|^(-2k) exp(-(|x| / s)^eta) with |x| in that norm. As for l2,
|x| and x / |x| are independent, and t = (|x| / s)^eta follows Gamma((d - 2k) / eta, 1): the shells
are the same, and so are additional laws, which are weights on shells; only spheres have another
shape. `sigma` is the root mean square of one coordinate, for every norm, k and eta. This fixes s:
with E[u_1^2] of a direction u (the cone measure of the unit sphere), sigma^2 = E |x|^2 E[u_1^2].

Setting. Let |.| be one of the two norms, g(|x|) the density of the noise P, q_i(|x|) the densities
of the additional laws, all nonincreasing in the norm, and L = l_0 g + sum_i l_i q_i with
multipliers l >= 0. For a shift delta put

    V(delta) = integral (g(|x - delta|) - L(|x|))_+ dx.

Weak duality bounds the probability of a wrong answer at x0 + delta by
l_0 (1 - P_A) + sum_i l_i (1 - Q_i) + V(delta), so V has to be bounded over a whole ball of shifts.

Claim. Over the ball |delta| <= r of the same norm V is largest at r (1, 0, ..., 0) for l1 and at
r (1, 1, ..., 1) for l-infinity; and it does not decrease with r. So one shift proves the radius for
all shifts up to it.

Proof. Let e be a unit vector whose reflection x -> x - 2 <x, e> e keeps the norm. Then |x| sees
<x, e> only through its size, and, being convex, does not decrease with that size. V, too, stays
the same when delta is reflected. Take two shifts that differ only along e, delta_a and delta_b with
components 0 <= a < b, and reflect at the plane halfway between them: x with <x, e> > (a + b)/2
becomes x'. Such a pair has
    A := g(|x - delta_b|) = g(|x' - delta_a|)  >=  B := g(|x - delta_a|) = g(|x' - delta_b|),
because x is nearer to delta_b along e, and L := L(|x|) <= L' := L(|x'|), because x' is nearer to 0
along e. Together the two points contribute
    (A - L)_+ + (B - L')_+   at delta_b,      (B - L)_+ + (A - L')_+   at delta_a.
Both pairs of arguments have the same sum, and the first pair holds the largest and the smallest
of the four; y -> y_+ is convex, hence the first sum is at least the second. Over all pairs:
V(delta_b) >= V(delta_a). Now choose e:
- e a coordinate axis (every norm): V does not decrease with any |delta_i|. This settles
  l-infinity, and the growth with r.
- e = (e_i - e_j)/sqrt 2, whose reflection swaps two coordinates (every norm): while
  delta_i + delta_j stays, V does not decrease with |delta_i - delta_j|, so moving all of |delta|
  into one coordinate never lowers V. This settles l1. QED

Along these shifts |x + delta| is a function of n = |x| and of one more number c, the overlap:

    |x + delta| = n + r - 2 min(n c, r).

- l1: c = |x_1| / n ~ Beta(1, d - 1) if x_1 < 0, else 0;
- l-infinity: c = 0 if the coordinate of largest size is positive, otherwise the largest coordinate
  is n (1 - 2c), and again c ~ Beta(1, d - 1).
So l1 and l-infinity agree: measured in units of their s both have the same radii, and the law of l2
noise with the same parameters stands for both below. With probability
1/2 the overlap is 0, otherwise c = 1 - e^(-v / (d - 1)), v ~ Exp(1). Substituting x -> x + delta,

    V = E[ (1 - sum_i l_i q_i(|x + delta|) / g(|x|))_+ ]     over x ~ P:

the mean of a number in [0, 1], whatever the multipliers. (The appendix of the paper estimates it
from draws, with a share of alpha; the two numbers t ~ Gamma(m, 1) and v are integrated here, at no
cost in alpha.) Given t the bracket falls with v, so that its zero is found by halving and the inner
integral ends there; it is cut where a density jumps and where min(n c, r) turns, and each piece is
smooth. A piece may be as long as v = 36, and in few dimensions the density of P has its pole
(d - 1) pi beside it, so that each is cut in three by `GRADES`. What is left is smooth in t but for
the shells where such a zero meets an end of a piece: these are found too, and Gauss rules lie
between them. `error_bound` charges twice the differences to two other rules, added up over all
panels without their signs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from dsrs.errors import InvalidInput
from dsrs.laws import AdditionalLaw, GeneralizedGaussian
from dsrs.proofs import Observation

Floats = NDArray[np.float64]
OtherNorm = Literal["l1", "linf"]

# Exponents are cut here: a ratio of e^600 settles a comparison with 1 as well as infinity does.
LARGEST_OVERLAP_LOG_RATIO = 600.0
# Overlaps beyond this v have probability 2e-16.
LARGEST_V = 36.0
# Shells outside the quantiles of 2^-OUTER and 1 - 2^-OUTER are left out.
OUTER = 40
SMALLEST_SHELL = 1e-290
# Halvings of an interval of v: the bracket is then below 1e-6, and the area that is missed 1e-12.
OVERLAP_HALVINGS, KINK_HALVINGS = 26, 40
# Panels of shells on either side of the median: for a search, to look for kinks, for the integral.
SEARCH, SCAN, TRUSTED = 12, 150, 20
OVERLAP_NODES, FEWER_OVERLAP_NODES = 8, 7  # of each panel; twice as many in a part of v
GRADES = (0.0, 1 / 9, 1 / 3, 1.0)  # where a piece of v is cut, of its length
# What is charged: times the differences of rules; and for ends that were left out and rounding.
DIFFERENCE_CHARGE, FLAT_CHARGE = 2.0, 1e-7


class Rule(NamedTuple):
    """Panels of shells on either side of the median, the nodes of each, whether it has halves."""

    panels: int
    nodes: int = OVERLAP_NODES
    halved: bool = False


@dataclass(frozen=True)
class Shifted:
    """Shells of P, and how the worst shift of one length moves the noise on them.

    The noise on shell t[i] has probability mass[i] and norm n[i] (in units of s); `reach` is r / n.
    `ends[j, i]` are the v between which densities are smooth.
    """

    law: GeneralizedGaussian
    others: tuple[AdditionalLaw, ...]
    t: Floats
    mass: Floats
    reach: Floats
    ends: Floats

    @classmethod
    def by(
        cls, law: GeneralizedGaussian, radius: float, others: Sequence[AdditionalLaw], rule: Rule
    ) -> Shifted:
        """The worst shift of length `radius`, at the shells of a rule."""
        return cls.at(law, radius, others, *_shells(law.m, rule, _cuts(law, radius, others)))

    @classmethod
    def at(
        cls,
        law: GeneralizedGaussian,
        radius: float,
        others: Sequence[AdditionalLaw],
        t: Floats,
        mass: Floats,
    ) -> Shifted:
        """The worst shift of length `radius`, at shells t of this mass."""
        rho, edges = radius / float(law.norm(1.0)), _edges(others)
        n = t ** (1 / law.eta)
        reach = rho / n
        turn = np.minimum(reach, 1.0)  # the overlap beyond which all of the shift helps
        overlaps = [np.zeros(len(t)), *(np.clip((n + rho - T) / (2 * n), 0, turn) for T in edges)]
        with np.errstate(divide="ignore"):
            v = -(law.d - 1) * np.log1p(-np.stack([*overlaps, turn]))
        return cls(law, tuple(others), t, mass, reach, np.sort(np.minimum(v, LARGEST_V), axis=0))

    def ratios(self, v: Floats, side: int = 0) -> Floats:
        """Return q_j(|x + delta|) / g(|x|) for each law j (g first) at v, with a row for each
        shell.

        `side` is 1 or -1 for the limit from larger or smaller overlaps where a density jumps.
        """
        shape = (-1,) + (1,) * (v.ndim - 1)
        t, reach = self.t.reshape(shape), self.reach.reshape(shape)
        overlap = -np.expm1(-v / (self.law.d - 1))
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            growth = np.log1p(np.maximum(reach - 2 * np.minimum(overlap, reach), -1.0))
            added = t * np.expm1(self.law.eta * growth)
            log_ratio = -2 * self.law.k * growth - added
        shells = np.maximum(t + added, 0.0) * (1 - 1e-12 * side)
        columns = [log_ratio, *(log_ratio + other.log_weight(shells) for other in self.others)]
        return np.asarray(np.exp(np.minimum(np.stack(columns), LARGEST_OVERLAP_LOG_RATIO)))

    def excess(self, multipliers: Floats, nodes: int = OVERLAP_NODES) -> Floats:
        """V for these multipliers, shell by shell: it is the sum.

        With other `nodes` the rule in v is another one too, and its error does not go unseen.
        """
        bracket = functools.partial(self.bracket, multipliers)
        total = 0.5 * np.maximum(bracket(self.ends[0], -1), 0.0)
        # Beyond the turn nothing changes.
        total += 0.5 * np.exp(-self.ends[-1]) * np.maximum(bracket(self.ends[-1], 1), 0.0)
        points, parts = _graded(2 * nodes)
        for start, stop in zip(self.ends[:-1], self.ends[1:], strict=True):
            inside, outside = start, stop
            outside = np.where(bracket(start, 1) > 0, outside, start)
            inside = np.where(bracket(stop, -1) >= 0, outside, inside)
            for _ in range(OVERLAP_HALVINGS):
                middle = 0.5 * (inside + outside)
                positive = bracket(middle) > 0
                inside = np.where(positive, middle, inside)
                outside = np.where(positive, outside, middle)
            width = (inside - start)[:, None]
            v = start[:, None] + width * points
            values = np.maximum(bracket(v), 0.0) * np.exp(-v)
            total += 0.5 * (width * parts * values).sum(axis=1)
        return self.mass * total

    def bracket(self, multipliers: Floats, v: Floats, side: int = 0) -> Floats:
        """Return 1 - sum_j l_j q_j(|x + delta|) / g(|x|), which falls with v."""
        return 1 - np.tensordot(multipliers, self.ratios(v, side), axes=1)

    def at_ends(self, multipliers: Floats) -> Floats:
        """The bracket on both sides of every end, one row each."""
        return np.stack(
            [self.bracket(multipliers, end, side) for end in self.ends for side in (-1, 1)]
        )

    def nodes(self) -> tuple[Floats, Floats]:
        """Return weights and ratios of fixed points (a column for each law), to search multipliers
        with."""
        points, parts = _gauss(OVERLAP_NODES)
        starts, widths = self.ends[:-1].T[:, :, None], np.diff(self.ends.T, axis=1)[:, :, None]
        count = len(self.t)
        v = (starts + widths * points).reshape(count, -1)
        weights = [
            np.ones((count, 1)),
            np.exp(-self.ends[-1])[:, None],
            (widths * parts).reshape(count, -1) * np.exp(-v),
        ]
        places = np.hstack([np.zeros((count, 1)), self.ends[-1][:, None], v])
        ratios = self.ratios(places)
        flat = (0.5 * self.mass[:, None] * np.hstack(weights)).ravel()
        kept = flat > 0
        return flat[kept], ratios.reshape(len(ratios), -1).T[kept]


def error_bound(
    law: GeneralizedGaussian,
    radius: float,
    others: Sequence[AdditionalLaw],
    errors: Floats,
    multipliers: Floats,
) -> float:
    """The probability of a wrong answer at any shift up to `radius`, from above.

    `errors` are upper bounds of the class's error under P and under the other laws.
    """
    cuts = tuple(sorted({*_cuts(law, radius, others), *_kinks(law, radius, others, multipliers)}))
    half, other, whole = (
        _panels(
            Shifted.at(law, radius, others, *_shells(law.m, rule, cuts)).excess(
                multipliers, rule.nodes
            ),
            rule,
        )
        for rule in (
            Rule(TRUSTED, OVERLAP_NODES, True),
            Rule(TRUSTED, FEWER_OVERLAP_NODES, True),
            Rule(TRUSTED),
        )
    )
    missed = np.maximum(np.abs(half - other), np.abs(half - whole))
    excess = math.fsum(half.tolist()) + DIFFERENCE_CHARGE * math.fsum(missed.tolist())
    wrong = math.fsum((errors * multipliers).tolist())
    return (wrong + excess) * (1 + 1e-13) + FLAT_CHARGE * (1 + wrong)


def _cuts(
    law: GeneralizedGaussian, radius: float, others: Sequence[AdditionalLaw]
) -> tuple[float, ...]:
    """The shells where the noise begins and ends to reach an edge T: n = T - r and n = T + r."""
    rho = radius / float(law.norm(1.0))
    return tuple(
        sorted(abs(edge + side * rho) ** law.eta for edge in _edges(others) for side in (-1, 1))
    )


def _kinks(
    law: GeneralizedGaussian,
    radius: float,
    others: Sequence[AdditionalLaw],
    multipliers: Floats,
) -> list[float]:
    """The shells where the bracket is 0 at an end of a piece of v."""
    t, _ = _shells(law.m, Rule(SCAN, 1), _cuts(law, radius, others))
    t = np.sort(t)

    def at_ends(t: Floats) -> NDArray[np.bool_]:
        return Shifted.at(law, radius, others, t, np.ones(len(t))).at_ends(multipliers) > 0

    positive = at_ends(t)
    rows, places = np.nonzero(positive[:, 1:] != positive[:, :-1])
    low, high, was = t[places], t[places + 1], positive[rows, places]
    for _ in range(KINK_HALVINGS if len(rows) else 0):
        middle = np.sqrt(low * high)
        same = at_ends(middle)[rows, np.arange(len(rows))] == was
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return [float(shell) for shell in high]


def _panels(values: Floats, rule: Rule) -> Floats:
    """Sum over whole panels."""
    return np.asarray(values.reshape(-1, rule.nodes * (1 + rule.halved)).sum(axis=1))


def _edges(others: Sequence[AdditionalLaw]) -> list[float]:
    """The norms, in units of s, at which a density may jump or bend."""
    return sorted(
        {
            end ** (1 / other.base.eta)
            for other in others
            for part in other.components()
            for end in (part.start, part.stop)
            if 0 < end < np.inf
        }
    )


@functools.lru_cache(maxsize=256)
def _shells(m: float, rule: Rule, cuts: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Nodes t and their mass under Gamma(m, 1): Gauss rules between quantiles, and between cuts."""
    tails = max(rule.panels // 4, 4)
    below = np.concatenate(
        [0.5 ** np.linspace(OUTER, 3, tails + 1), np.linspace(0.125, 0.5, rule.panels + 1)[1:]]
    )
    points, parts = _gauss(rule.nodes)
    shells, masses = [], []
    # Above the median quantiles are known by their distance from 1.
    for share, inverse in (
        (special.gammainc, special.gammaincinv),
        (special.gammaincc, special.gammainccinv),
    ):
        own = np.array([share(m, cut) for cut in cuts])
        ends = np.unique(np.concatenate([below, own[(own > below[0]) & (own < 0.5)]]))
        if rule.halved:
            ends = np.sort(np.concatenate([ends, 0.5 * (ends[1:] + ends[:-1])]))
        width = np.diff(ends)[:, None]
        shells.append(inverse(m, (ends[:-1, None] + width * points)).ravel())
        masses.append((width * parts).ravel())
    return np.maximum(np.concatenate(shells), SMALLEST_SHELL), np.concatenate(masses)


@functools.lru_cache(maxsize=16)
def _gauss(nodes: int) -> tuple[Floats, Floats]:
    """Points and weights of Gauss's rule on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    return (x + 1) / 2, w / 2


@functools.lru_cache(maxsize=16)
def _graded(nodes: int) -> tuple[Floats, Floats]:
    """Points and weights on [0, 1], by Gauss's rule on each part of it."""
    points, parts = _gauss(nodes)
    starts, widths = np.array(GRADES[:-1])[:, None], np.diff(GRADES)[:, None]
    return (starts + widths * points).ravel(), (widths * parts).ravel()


LOG_MULTIPLIERS = (-40.0, 60.0)
# Halvings of the bracket of the radius, and of what is left of it by the trusted bound.
BRACKET_STEPS, TRUSTED_STEPS = 13, 7
# The search ends this far below and above what the trusted bound proves, and then farther.
SEARCH_MARGINS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
# In two or three dimensions the nodes of the search may promise far more than can be proved.
FAR_BELOW, FAR_STEPS = (0.1, 0.25, 0.5, 0.75, 0.9), 14


@dataclass
class OverlapSearch:
    """The largest radius for a class with these upper bounds of its error, P's first."""

    law: GeneralizedGaussian
    others: Sequence[AdditionalLaw]
    errors: Floats
    _last: Floats = field(init=False)
    # The last radius that was proved, with what proves it: a search from elsewhere may fail there.
    _proved: tuple[float, Floats, float] = field(init=False)

    def __post_init__(self) -> None:
        self._last = np.ones(len(self.errors))
        self._proved = 0.0, self._last, 1.0

    def largest(self) -> tuple[float, Floats, float]:
        """A radius, its multipliers, and the bound of the error there; 0 where there is none."""
        about = self._about()
        low, high = 0.0, about * (1 + SEARCH_MARGINS[-1])
        for factor in (1 + part for part in SEARCH_MARGINS if about):
            if not self._proves(factor * about):
                high = factor * about
                break
            low = factor * about
        steps = TRUSTED_STEPS
        for part in (*SEARCH_MARGINS, *FAR_BELOW) if about and not low else ():
            if self._proves((1 - part) * about):
                low, steps = (1 - part) * about, FAR_STEPS if part in FAR_BELOW else steps
                break
            high = (1 - part) * about
        for _ in range(steps if low else 0):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._proves(middle) else (low, middle)
        return self._proved

    def multipliers(self, radius: float) -> Floats:
        """Multipliers l >= 0 that nearly minimise the bound of the error at this radius."""
        weights, ratios = Shifted.by(self.law, radius, self.others, Rule(SEARCH)).nodes()
        self._last = self._best(weights, ratios)
        return self._last

    def _about(self) -> float:
        """The largest radius that seems provable on a few nodes."""

        def passes(radius: float) -> bool:
            weights, ratios = Shifted.by(self.law, radius, self.others, Rule(SEARCH)).nodes()
            self._last = self._best(weights, ratios)
            excess = weights @ np.maximum(1 - ratios @ self._last, 0.0)
            return float(self.errors @ self._last + excess) < 0.5

        # The typical norm is far above most radii; walk down from it.
        low = float(self.law.norm(self.law.m))
        high, least = 64 * low, 1e-9 * low
        while passes(low) and low < high:
            low *= 2
        while not passes(low):
            high, low = low, low / 2
            if low < least:
                return 0.0
        for _ in range(BRACKET_STEPS):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if passes(middle) else (low, middle)
        return low

    def _best(self, weights: Floats, ratios: Floats) -> Floats:
        if len(self.errors) == 1:
            return self._one(weights, ratios[:, 0])

        def wrong(multipliers: Floats) -> float:
            above = np.maximum(1 - ratios @ multipliers, 0.0)
            return float(self.errors @ multipliers + weights @ above)

        # From the ones before, and with every law at work: a multiplier near zero stays there.
        starts = (self._last, np.ones(len(self.errors)))
        return min((self._several(weights, ratios, at) for at in starts), key=wrong)

    def _one(self, weights: Floats, ratios: Floats) -> Floats:
        """The best multiplier of P alone: the error is the mass of the ratios below 1 / l."""
        order = np.argsort(ratios)
        mass = np.cumsum((weights * ratios)[order])
        place = min(int(np.searchsorted(mass, self.errors[0])), len(order) - 1)
        least, most = (math.exp(end) for end in LOG_MULTIPLIERS)
        return np.array([min(max(1 / max(float(ratios[order[place]]), 1 / most), least), most)])

    def _several(self, weights: Floats, ratios: Floats, start: Floats) -> Floats:
        """A minimum from `start`; the bound is convex in l, and searched in ln l."""
        # A node that is active has a ratio below e^40: the cut keeps the sum and avoids overflow.
        inside = np.minimum(ratios, np.exp(-LOG_MULTIPLIERS[0])) * weights[:, None]

        def objective(logs: Floats) -> tuple[float, Floats]:
            multipliers = np.exp(logs)
            gap = 1 - ratios @ multipliers
            slope = self.errors - (gap > 0).astype(np.float64) @ inside
            value = self.errors @ multipliers + weights @ np.maximum(gap, 0.0)
            return float(value), np.asarray(multipliers * slope)

        best = optimize.minimize(
            objective,
            np.clip(np.log(np.maximum(start, 1e-300)), *LOG_MULTIPLIERS),
            jac=True,
            method="L-BFGS-B",
            bounds=[LOG_MULTIPLIERS] * len(self.errors),
        )
        return np.asarray(np.exp(best.x))

    def _proves(self, radius: float) -> bool:
        """Whether the trusted bound of the error is below 1/2, at its best multipliers."""
        multipliers = self.multipliers(radius)
        wrong = error_bound(self.law, radius, self.others, self.errors, multipliers)
        if wrong < 0.5:
            self._proved = radius, multipliers, wrong
        return wrong < 0.5


def unit_in_norm(norm: OtherNorm, law: GeneralizedGaussian) -> float:
    """The unit s of noise that is round in `norm`, over that of l2 noise of the same parameters.

    E[u_1^2] is 1/d for l2, 2 / (d (d + 1)) for l1 and (d + 2) / (3 d) for l-infinity.
    """
    if norm not in ("l1", "linf"):
        raise InvalidInput(f"`norm` must be l1 or linf, got {norm!r}")
    square = 2 / (law.d + 1) if norm == "l1" else (law.d + 2) / 3
    return 1 / math.sqrt(square)


def radius_in_norm(
    norm: OtherNorm, law: GeneralizedGaussian, p_lower: float, *others: Observation
) -> float:
    """The radius in l1 or l-infinity for noise that is round in that norm; 0 where there is none.

    Args:
        norm: the norm of the noise and of the radius.
        law: l2 noise with the parameters of this noise.
        p_lower: the lower bound of P_A.
        others: additional laws, whose base is `law`, with the lower bounds of the class.
    """
    rising = [other.law for other in others if other.law.base != law or not other.law.falls]
    if rising:
        raise InvalidInput(f"the density must fall with the norm, and that of {rising[0]} may rise")
    errors = np.array([1 - p_lower, *(1 - other.interval.lower for other in others)])
    radius, _, _ = OverlapSearch(law, tuple(other.law for other in others), errors).largest()
    return math.nextafter(radius * unit_in_norm(norm, law) * (1 - 1e-12), 0.0) if radius else 0.0
