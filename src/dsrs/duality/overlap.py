"""The dual bound for noise that is round in l1 or l-infinity: an integral over two numbers.

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
So l1 and l-infinity agree: measured in units of their s both have the same radii. With probability
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
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.laws import AdditionalLaw, GeneralizedGaussian

Floats = NDArray[np.float64]

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
