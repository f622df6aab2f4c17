"""Check proofs about smoothed classifiers (FORMAT.md). Needs Python, and python-flint for most.

Noise P in d dimensions is round: its density falls with the norm as |x|^(-2k) exp(-t), where
t = (|x|/s)^eta ~ Gamma(m, 1), m = (d - 2k)/eta. A law Q has the density w p, with a weight w of t.
For multipliers l_i of either sign let g = sum of l_i q_i. An event with probability X_i under Q_i
has, where the input is shifted by delta, at least the probability (weak duality)

    B = integral of min(g(x), p(x - delta)) dx - sum of l_i (1 - X_i),

because f p(x - delta) >= f g - (g - p(x - delta))_+ for every f between 0 and 1. Where X_i is only
known to be at least a value, l_i >= 0 keeps this true; where at most, l_i <= 0. Shells are named by
u = ln(t/m) for x and by v for y = x - delta. Lengths are in units of s / sqrt(2), so that
h = |x|^2 / 2 = t^(2/eta). Numbers are balls (Arb) that hold the true value, and a comparison is
true only if it holds for all members. Nothing is searched for, no clock is read; work is counted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

try:
    from flint import acb, arb, arb_poly, arb_series, ctx
except ImportError:  # what needs it says so
    ctx = None  # type: ignore[assignment]

FORMAT = "dsrs-proof-1"
BITS = 100  # of every number: what is left where exponents of 1e5 cancel
EVALUATIONS = 400_000  # of integrands, for one step of a proof
SHARP = 1e-17  # what a panel of an integral may miss
DEPTH = 48.0  # shells with a density below e^-DEPTH are left to bounds of tails
LARGEST_RISE = 1e-6  # what rounding never makes

Ball = TypeVar("Ball", "arb", "acb")  # a set of real numbers, or a box of complex ones


class NotProved(Exception):
    """What is said does not follow, or is not shown within the counted work."""


def demand(holds: bool, reason: str) -> None:
    """Raise NotProved unless something holds."""
    if not holds:
        raise NotProved(reason)


@contextmanager
def proving(multipliers: Sequence[float] = ()) -> Iterator[None]:
    """Compute with BITS and what large multipliers take away; what goes wrong proves nothing."""
    demand(ctx is not None, "this needs python-flint: pip install python-flint")
    demand(all(abs(x) < 1e200 for x in multipliers), "a multiplier is too large")
    before = ctx.prec, ctx.cap
    ctx.prec = BITS + math.ceil(math.log2(max([1.0, *map(abs, multipliers)])))
    ctx.cap = ctx.prec  # terms of a power series
    try:
        yield
    except NotProved:
        raise
    except Exception as error:
        raise NotProved(f"the numbers cannot be computed with: {error!r}") from error
    finally:
        ctx.prec, ctx.cap = before


def exact(value: float | Fraction) -> arb:
    return arb(value.numerator) / value.denominator if isinstance(value, Fraction) else arb(value)


def within(radius: arb) -> arb:
    """Return a ball around 0 that holds everything up to `radius` in size."""
    return arb(0, radius.abs_upper())


class Budget(list[int]):
    """How many integrands may still be evaluated."""

    def spend(self, count: int) -> None:
        self[0] -= count
        demand(self[0] >= 0, "it takes more evaluations than one step may have")


# A function f on a set of u. On a box its values are of a function that is analytic there and
# differs from f on the real line by the second number at most; None: no such function is seen.
Integrand = Callable[[Any], "tuple[Any, arb] | None"]
# Names a panel on which f is not seen to be analytic, and gives its integral if it can.
Settle = Callable[["arb", "arb"], "tuple[str, arb | None]"]


def panels(
    f: Integrand, low: arb, high: arb, budget: Budget, settle: Settle | None, sharp: float
) -> Iterator[tuple[arb, str, arb]]:
    """Yield panels from left to right, by left end, name and integral of f: they are halved until a
    Gauss rule, `settle`, or length times range is sharp."""
    waiting = [(low, high)]
    while waiting:
        a, b = waiting.pop()
        name, part = "analytic", gauss(f, a, b, budget, sharp)
        if part is None and settle is not None:
            name, part = settle(a, b)
        if part is None:
            budget.spend(1)
            values = f(a.union(b))
            part = None if values is None else (values[0] + within(values[1])) * (b - a)
            name = "analytic" if part is not None and part.rad() < sharp else ""
        if part is not None and name:
            yield a, name, part
            continue
        middle = ((a + b) / 2).mid()
        demand(a < middle and middle < b, "an integrand cannot be enclosed where it has a kink")
        waiting += [(middle, b), (a, middle)]


def integral(f: Integrand, low: arb, high: arb, budget: Budget, sharp: float = SHARP) -> arb:
    """Enclose the integral of f from low to high."""
    return sum((part for *_, part in panels(f, low, high, budget, None, sharp)), arb(0))


def gauss(f: Integrand, a: arb, b: arb, budget: Budget, sharp: float) -> arb | None:
    """Enclose the integral of f on a panel by a Gauss-Legendre rule; None where it is not sharp.

    Let |f| <= M be analytic on the ellipse around [-1, 1] with half axes (z +- 1/z)/2, z = 3. Its
    Chebyshev coefficients are at most 2 M z^-j. The rule with n >= 2 nodes is exact to degree 2n -
    1; odd terms vanish; the integral of T_j is at most 2/(j^2 - 1), and the rule, whose weights are
    positive, gives at most 2 for it. So it misses the sum of 2 M z^-j (2 + 2/15) over even j >= 2n.
    """
    half, middle = (b - a) / 2, (a + b) / 2
    budget.spend(1)
    on_box = f(acb(middle + within(half * 5 / 3), within(half * 4 / 3)))
    most = arb.nan() if on_box is None else half.abs_upper() * on_box[0].abs_upper()
    if on_box is None or not most < 100:  # shorter panels need fewer nodes in all
        return None
    digits = math.log(max(5 * float(most) / sharp, 1.0))
    count = max(4, 2 * math.ceil(digits / (4 * math.log(3))))
    budget.spend(count)
    total = arb(0)
    for node, weight in rule(count, ctx.prec):
        value = f(middle + half * node)
        if value is None:
            return None
        total += weight * value[0] + within(value[1])
    return half * total + within(most * 24 / 5 / arb(9) ** count + on_box[1] * (b - a).upper() * 2)


@lru_cache(maxsize=256)
def rule(count: int, precision: int) -> list[tuple[arb, arb]]:
    """Return the nodes and weights of a Gauss-Legendre rule, enclosed."""
    return [arb.legendre_p_root(count, k, weight=True) for k in range(count)]


class Angle:
    """The cosine c between a uniform direction in d dimensions and a fixed one.

    (1 + c)/2 ~ Beta((d-1)/2, (d-1)/2): its density is top (1 - c^2)^n on (-1, 1), n = (d - 3)/2.
    """

    def __init__(self, d: int) -> None:
        self.d, self.n, self.rest = d, arb(d - 3) / 2, arb(d - 1) / 2
        self.top = ((arb(d) / 2).lgamma() - self.rest.lgamma()).exp() / arb.pi().sqrt()
        # Beyond `far` the density falls: Pr[cosine > far] is at most its length times its height.
        far = (1 - (arb(2) ** -(ctx.prec + 33)) ** (1 / self.rest)).sqrt().mid()
        self.far, self.left_out = arb(1), arb(0)
        if far < 0.999:
            self.far, self.left_out = far, (1 - far) * self.top * (1 - far * far) ** self.n
        # Power series about multiples of `width`, those within `radius` of it.
        self.radius = (4 / arb(d).sqrt()).min(arb(0.25)).mid()
        self.width = float(self.radius) / 8
        self.series: dict[int, tuple[arb, arb, arb_poly]] = {}

    def above(self, c: Ball, square: Ball | None = None) -> tuple[Ball, arb] | None:
        """Enclose Pr[cosine > c] as integrands do; `square` is 1 - c^2 where it is known better."""
        low, high = c.real.lower(), c.real.upper()
        if not low <= high:  # not a number
            return None
        if low >= self.far or high <= -self.far:
            return type(c)(0 if low > 0 else 1), self.left_out
        if isinstance(c, arb):
            small = c.rad() < 1e-15 and low > -1 and high < 1
            return self.near(c) if small else self.near(low).union(self.near(high)), arb(0)
        on_box = 1 - c * c
        square = on_box if square is None else square
        if square.real < 0 and (low > 0 or high < 0):
            return acb(0 if low > 0 else 1), arb(0)  # beyond 1 or -1 on the real line
        if not square.real > 0:  # else a segment from [-1, 1] to c does not meet the cuts beyond
            return None
        middle = c.real.mid().max(arb(-1)).min(arb(1))
        steepest = (
            on_box.abs_upper() if self.d > 2 else on_box.abs_lower() if on_box.real > 0 else None
        )
        if steepest is None:  # |arccos c - arccos middle| <= pi + arcosh(1 + |c|)
            reach = within(1 + (2 + 2 * c.abs_upper()).log())
        else:  # the mean value theorem on the box
            reach = within((c - middle).abs_upper() * self.top * steepest**self.n)
        return acb(self.near(middle) + reach, reach), arb(0)

    def near(self, c: arb) -> arb:
        """Return Pr[cosine > c] on a very small ball, not across -1 or 1."""
        if c >= 1 or c <= -1:
            return arb(0 if c > 0 else 1)
        if self.d == 2:
            return c.acos() / arb.pi()
        place = round(float(c) / self.width)
        if place < 0:
            return 1 - self.near(-c)
        if place * self.width > 0.7:
            share = (1 - c.mid() ** 2).beta_lower(self.rest, arb(0.5), 1) / 2
            return share + within(c.rad() * self.top)
        if place not in self.series:
            self.series[place] = self.series_about(arb(place * self.width))
        centre, share, fall = self.series[place]
        return share - fall(c - centre)

    def series_about(self, c: arb) -> tuple[arb, arb, arb_poly]:
        """Return c, Pr[cosine > c], and its fall from c to c + h, |h| < R/15. By Cauchy the density
        has coefficients |a_j| <= M R^-j, as |1 - (c + h)^2| <= 1 - c^2 + 2 c R + R^2 for |h| <= R;
        those of j >= J miss M R 15^-J at most."""
        count = math.ceil(ctx.prec / math.log2(15)) + 3
        x = arb_series([c, 1], prec=count)
        fall = (((1 - x * x).log() * self.n).exp() * self.top).integral()
        share = arb(0.5) - (c * c).beta_lower(arb(0.5), self.rest, 1) / 2
        most = self.top * (1 - c * c + 2 * c * self.radius + self.radius**2) ** self.n
        missed = within(most * self.radius / arb(15) ** (count - 1))
        return c, share + missed, arb_poly([fall[j] for j in range(count)])


@dataclass(frozen=True, slots=True)
class Piece:
    """sign exp(height + slope u - rate t) from shell `start` to `stop`, where t is exactly `ends`:
    a density of u, or a weight q/p."""

    height: arb
    slope: arb
    rate: arb
    start: arb
    stop: arb
    ends: Sequence[float] = (0.0, math.inf)
    sign: int = 1


@dataclass(frozen=True)
class Noise:
    """P: |x|^(-2k) exp(-(|x|/s)^eta) in d dimensions, with E|x|^2 = sigma^2 d."""

    d: int
    sigma: float
    k: float
    eta: float

    def __post_init__(self) -> None:
        demand(self.d >= 2 and self.sigma > 0 and self.eta > 0, "there is no such noise")
        demand(0 <= 2 * self.k < self.d, "k must be from 0 to below d/2")

    @property
    def gaussian(self) -> bool:
        return self.k == 0 and self.eta == 2

    @property
    def shells(self) -> Shells:
        return shells_of(self, ctx.prec)

    def law(self, pieces: Sequence[tuple[float, ...]] | None) -> Law:
        """Return the law with the weight t^slope exp(log - rate t) for start < t < stop, but for a
        common factor, by its pieces (start, stop, log, slope, rate); None is P itself."""
        given = tuple([(0.0, math.inf, 0.0, 0.0, 0.0)] if pieces is None else pieces)
        demand(0 < len(given) <= 2000, "a law has too few or too many pieces")
        ends = [t for start, stop, *_ in given for t in (start, stop)]
        demand(ends[0] >= 0 and ends == sorted(ends), "the pieces of a law must rise")
        demand(all(a < b for a, b, *_ in given), "a piece of a law has no length")
        full = [*(p[0] for p in given), math.inf] == [0.0, *(p[1] for p in given)]
        rescaled = full and len(given) == 1 and given[0][3] == 0
        law = Law(self, given, full, rescaled, rescaled and given[0][4] == 0)
        if not law.is_noise:
            with proving():
                weights_of(law, ctx.prec)
        return law


@dataclass(frozen=True)
class Law:
    """A law by the pieces of its weight."""

    noise: Noise
    pieces: tuple[tuple[float, ...], ...]
    full_support: bool  # its density is positive on almost all shells
    is_rescaled: bool  # it is P in some size
    is_noise: bool  # it is P


class Shells:
    """P on shells u = ln(t/m): ln p(u) = m ln m - ln Gamma(m) + m u - t."""

    def __init__(self, noise: Noise) -> None:
        d, sigma, k, self.eta = map(exact, (noise.d, noise.sigma, noise.k, noise.eta))
        self.m, self.kappa, self.power = (d - 2 * k) / self.eta, 2 * k / self.eta, 2 / self.eta
        self.log_m = self.m.log()
        height = self.m * self.log_m - self.m.lgamma()
        self.p = Piece(height, self.m, arb(1), arb.neg_inf(), arb.pos_inf())
        self.low, self.high, _ = self.reach(self.p, DEPTH)
        # E t^(2/eta) = Gamma(m + 2/eta) / Gamma(m), which is m for eta = 2.
        mean = ((self.m + self.power).lgamma() - self.m.lgamma()).exp()
        self.scale = sigma * (d / 2 / (self.m if noise.eta == 2 else mean)).sqrt()
        self.angle = Angle(noise.d)

    def gamma(self, u: Ball) -> Ball:
        """Return t = m e^u."""
        return u.exp() * self.m

    def half_square(self, u: Ball) -> Ball:
        """Return h = t^(2/eta)."""
        return ((u + self.log_m) * self.power).exp()

    def log(self, piece: Piece, u: Ball, t: Ball) -> Ball:
        """Enclose height + slope u - rate t, on wide balls by Taylor: it bends by -rate t."""
        if piece.rate.is_zero() or (isinstance(u, arb) and u.rad() < 1e-20):
            return u * piece.slope + piece.height - t * piece.rate
        c = u.real.mid()
        away, middle = u - c, piece.rate * self.gamma(c)
        line = away * (piece.slope - middle) + (piece.height + piece.slope * c - middle)
        return line - t * piece.rate * away * away / 2

    def density(self, weight: Piece) -> Piece:
        """Return the density of u that has this weight."""
        height, slope = weight.height + self.p.height, weight.slope + self.m
        return replace(weight, height=height, slope=slope, rate=weight.rate + 1)

    def tail(self, density: Piece, u: arb, above: bool) -> arb:
        """Bound the mass of a piece, if it went on, beyond shell u: its logarithm is concave."""
        t = self.gamma(u)
        fall = (density.rate * t - density.slope) * (1 if above else -1)
        shown = density.rate > 0 and fall > 0
        return (self.log(density, u, t).exp() / fall).upper() if shown else arb.pos_inf()

    def below(self, u: arb) -> arb:
        """Bound the mass of P within shell u; shifted P has no more there, because p falls."""
        return self.tail(self.p, u, False).min(arb(1))

    def reach(self, density: Piece, depth: float) -> tuple[arb, arb, int]:
        """Return about the shells where a piece exceeds e^-depth, within its ends, and the largest
        logarithm there. `tail` bounds what lies outside: the choice proves nothing."""
        height, slope, rate = map(float, (density.height, density.slope, density.rate * self.m))
        start, stop = float(density.start), float(density.stop)
        peak = min(max(math.log(slope / rate) if slope > 0 else start, start), stop)
        ends, wide = [], 0.5 / math.sqrt(max(slope, rate * math.exp(peak), 0.1))
        for side in (-1, 1):
            u, step = peak + side * wide, wide
            while start < u < stop and height + slope * u - rate * math.exp(u) > -depth:
                u, step = u + side * step, 1.1 * step
            ends.append(arb(u))
        low = density.start if density.start > ends[0] else ends[0]
        high = density.stop if density.stop < ends[1] else ends[1]
        return low, high, round(height + slope * peak - rate * math.exp(peak))

    def mass(self, density: Piece) -> arb:
        """Enclose the integral of a piece over its shells."""
        top = self.reach(density, 0.0)[2]
        density = replace(density, height=density.height - top)
        low, high, _ = self.reach(density, 0.7 * ctx.prec + 20)

        def value(u: Ball) -> tuple[Ball, arb]:
            return self.log(density, u, self.gamma(u)).exp(), arb(0)

        total = integral(value, low, high, Budget([EVALUATIONS]), 2.0 ** (16 - ctx.prec))
        for end, u, above in ((density.start, low, False), (density.stop, high, True)):
            total += arb(0) if u is end else arb(0).union(self.tail(density, u, above))
        return total * arb(top).exp()


@lru_cache(maxsize=64)
def shells_of(noise: Noise, precision: int) -> Shells:
    """Return P on its shells."""
    return Shells(noise)


@lru_cache(maxsize=256)
def weights_of(law: Law, precision: int) -> tuple[Piece, ...]:
    """Return the pieces of q/p, with the factor that makes the mass 1."""
    shells, weights = law.noise.shells, []
    for *ends, log, slope, rate in law.pieces:
        start, stop = ((exact(t).log() - shells.log_m) if t else arb.neg_inf() for t in ends)
        height, exponent = exact(log) + exact(slope) * shells.log_m, exact(slope)
        demand(rate > -1, "a piece must have a rate above -1, or the mass may be infinite")
        demand(ends[0] > 0 or exponent + shells.m > 0, "a law has infinite mass near 0")
        weights.append(Piece(height, exponent, exact(rate), start, stop, ends))
    if law.is_noise:
        return (replace(weights[0], height=arb(0)),)
    total = sum((shells.mass(shells.density(weight)) for weight in weights), arb(0))
    sharp = total > 0 and total.is_finite() and total.log().rad() < 1e-9
    demand(sharp, "a law has no mass, or none that can be told")
    return tuple(replace(w, height=w.height - total.log()) for w in weights)


class Mixture:
    """g = sum of l_i q_i and P shifted by rho: the integral of min(g(x), p(x - delta)).

    Let R be where g(x) > p(x - delta), that is v > V(u). The integral is that of g outside R, plus
    P(y in R). On shell u, x is outside R if its cosine with delta exceeds (climb + rho/2) / sqrt(2
    h(u)), climb = (h(u) - h(V)) / rho. With C(v, u) = Pr[x within shell u | y on shell v], which is
    Pr[cosine of y < ((h(u) - h(v)) / rho - rho/2) / sqrt(2 h(v))], Green's theorem makes P(y in R)
    the integral of p(v) C(v, u) dv along the curve, from v = inf before the first shell to v = inf
    after the last, and along lines u = const where V jumps. A panel of shells is

    analytic: the curve is there; its part is the integral of g outside R plus p(V) C(V, u) V';
    plain: but for a little min(g, p) is g, as where g <= 0, and R is empty: V = inf;
    swallowed: but for a little min(g, p) is p(x - delta), and R has all: V = -inf.
    """

    def __init__(self, noise: Noise, mixed: Sequence[tuple[float, Law]], shift: Fraction) -> None:
        self.shells, self.budget, self.terms = noise.shells, Budget([EVALUATIONS]), list[Piece]()
        self.rho = exact(shift) / self.shells.scale
        self.weights = [  # the pieces of g/p
            replace(w, height=w.height + abs(exact(x)).log(), sign=1 if x > 0 else -1)
            for x, law in mixed
            for w in weights_of(law, ctx.prec)
        ]
        # Beyond `low` and `high` neither P shifted by rho nor a negative term matters.
        shells, low, top = self.shells, self.shells.low, self.shells.low
        norm = (shells.half_square(shells.high) * 2).sqrt() + self.rho
        most = (norm * norm / 2).log() / shells.power - shells.log_m
        for weight in self.weights:
            start, stop, _ = shells.reach(shells.density(weight), DEPTH)
            if weight.sign < 0 or not shift:  # without a shift all of g matters
                low, most = min(low, start, key=float), max(most, stop, key=float)
            top = max(top, stop, key=float)
        aside = arb(2) ** -20  # so that ends of pieces lie inside
        self.low, self.high = (low - aside).mid(), (min(most, top, key=float) + aside).mid()

    def intervals(self) -> Iterator[tuple[arb, arb, list[Piece]]]:
        """Yield the shells, cut where a piece begins or ends, and the terms there."""
        edges = dict(
            pair for w in self.weights for pair in zip(w.ends, (w.start, w.stop), strict=True)
        )
        cuts = [u for _, u in sorted(edges.items()) if not (u <= self.low or u >= self.high)]
        for a, b in pairwise([self.low, *cuts, self.high]):
            c = ((a + b) / 2).mid()
            demand(a < c and c < b, "two pieces cannot be told apart")
            yield a, b, [w for w in self.weights if w.start < c and c < w.stop]

    def ratio(self, terms: Sequence[Piece], u: Ball, t: Ball) -> tuple[Ball, Ball, Ball | None]:
        """Enclose G = g/p on the members of u, and G'; also ln G where G is shown positive."""
        shells, value, slope = self.shells, u * 0, u * 0
        for term in terms:
            log = shells.log(term, u, t)
            weight = log.exp() * term.sign
            value += weight
            slope += weight * (term.slope - t * term.rate)
            if len(terms) == 1 and term.sign > 0:
                return value, slope, log
        if len(terms) > 1 and not u.real.rad() < 1e-20:  # wide: the mean value theorem is sharper
            c = u.real.mid()
            close = slope * (u - c) + self.ratio(terms, c, shells.gamma(c))[0]
            value = close if close.real.rad() < value.real.rad() else value
        return value, slope, value.log() if value.real > 0 else None

    def least_overlap(self) -> arb:
        """Return a ball whose lower end the integral has at least."""
        total, before = arb(0), (list[Piece](), "plain")  # terms and name of the panel before
        for a, b, terms in self.intervals():
            self.terms = terms
            for u, name, part in panels(self.along_curve, a, b, self.budget, self.settle, SHARP):
                if before != (terms, name):
                    total += self.line(u, self.curve(*before, u), self.curve(terms, name, u))
                before, total = (terms, name), total + part
        total += self.line(self.high, self.curve(*before, self.high), arb.pos_inf())
        for weight in self.weights:  # outside min(g, p) is at least the negative part of g
            density = self.shells.density(weight)
            if weight.sign < 0 and not weight.start >= self.low:
                total -= self.shells.tail(density, self.low, False)
            if weight.sign < 0 and not weight.stop <= self.high:
                total -= self.shells.tail(density, self.high, True)
        return total

    def along_curve(self, u: Ball) -> tuple[Ball, arb] | None:
        """Return g outside R, plus p(V) C(V, u) V'."""
        shells, rho, t = self.shells, self.rho, self.shells.gamma(u)
        value, slope, log = self.ratio(self.terms, u, t)
        curve = None if log is None else crossing(shells, u, t, log)
        if curve is None or log is None:
            return None
        h, grown = shells.half_square(u), (curve[0] * shells.power).expm1()
        climb, moved = -(h * grown) / rho, h * (1 + grown)
        if not (h.real > 0 and moved.real > 0):
            return None
        outside = shells.angle.above((climb + rho / 2) / (h * 2).sqrt())
        inside = shells.angle.above((rho / 2 - climb) / (moved * 2).sqrt())
        if outside is None or inside is None:
            return None
        density = (shells.log(shells.p, u, t) + log).exp()
        speed = (t + shells.kappa - slope / value) / (curve[1] + shells.kappa)
        arriving = shells.log(shells.p, u + curve[0], curve[1]).exp() * speed
        missing = density.abs_upper() * outside[1] + arriving.abs_upper() * inside[1]
        return density * outside[0] + arriving * inside[0], missing

    def density(self, u: Ball) -> tuple[Ball, arb]:
        """Return g."""
        t = self.shells.gamma(u)
        return self.shells.log(self.shells.p, u, t).exp() * self.ratio(self.terms, u, t)[0], arb(0)

    def settle(self, a: arb, b: arb) -> tuple[str, arb | None]:
        """Name a panel where the curve is not seen to be smooth, and give its part if it can."""
        shells, rho, panel = self.shells, self.rho, a.union(b)
        t, h = shells.gamma(panel), shells.half_square(panel)
        found = self.ratio(self.terms, panel, t)[0]
        least, most, missing = found.lower(), found.upper(), arb(0)
        if not most <= 0:
            missing = shells.log(shells.p, panel, t).exp().upper() * most * (b - a).upper()
        if most < 1 and not missing < SHARP:  # how much of these shells R has, if G <= most
            top, goal = t.upper(), -most.log()
            e = arb(rough_crossing(float(top), float(shells.kappa), float(goal)) * (1 - 1e-9))
            if e > 0 and top * e.expm1() + shells.kappa * e <= goal:
                climb = h.lower() * (shells.power * e).expm1() / rho
                share = shells.angle.above((climb - rho / 2) / (h * 2).sqrt())
                missing *= (share[0] + share[1]).upper() if share else 1
        if missing < SHARP:
            return "plain", integral(self.density, a, b, self.budget) - missing
        if least > 0 and shells.kappa.is_zero():  # e^V = (t - ln G) / m
            rest = ((t - least.log()) / shells.m).upper()
            missing = shells.below(rest.log()) if rest > 0 else arb(0)
            if missing < SHARP:
                return "swallowed", -missing
        return "", None

    def curve(self, terms: Sequence[Piece], name: str, u: arb) -> arb:
        """Return V at an end of a panel."""
        if name != "analytic":
            return arb.pos_inf() if name == "plain" else arb.neg_inf()
        t = self.shells.gamma(u)
        log = self.ratio(terms, u, t)[2]
        found = None if log is None else crossing(self.shells, u, t, log)
        demand(found is not None, "the end of a curve cannot be enclosed")
        return u + found[0] if found else arb.nan()

    def line(self, u: arb, before: arb, after: arb) -> arb:
        """Enclose the integral of p(v) C(v, u) over v from `before` to `after`."""
        shells, rho, low, high = self.shells, self.rho, self.shells.low, self.shells.high
        if shells.below(u) < SHARP:  # all of the line is at most P(x within shell u)
            return within(shells.below(u))
        h = shells.half_square(u)
        norm = (h * 2).sqrt()

        def along(v: Ball) -> tuple[Ball, arb] | None:
            half = shells.half_square(v)
            if not half.real > 0:
                return None
            # 1 - c^2 in factors: where u is near the centre, c is near 1 on a whole range of v.
            own = (half * 2).sqrt()
            square = (norm - own + rho) * (norm + own - rho) * (own + rho - norm)
            square *= own + rho + norm
            cosine = ((half - h) / rho + rho / 2) / own
            share = shells.angle.above(cosine, square / (own * rho * 2) ** 2)
            density = shells.log(shells.p, v, shells.gamma(v)).exp()
            return share and (density * share[0], density.abs_upper() * share[1])

        start, stop = (v.max(low).min(high) for v in (before, after))
        rest = within(shells.below(low) + shells.tail(shells.p, high, True))
        if float(start) == float(stop):
            return rest + within((stop - start) * (shells.p.height - shells.m).exp())
        sign, (a, b) = (1, (start, stop)) if float(start) < float(stop) else (-1, (stop, start))
        return rest + sign * integral(along, a, b, self.budget)

    def rise(self) -> arb | None:
        """Bound the share by which g_+ rises with |x| in all, if it is no more than rounding, or
        give None. The density at x is p(u) G(u) e^(-d u / eta), but for a factor: its slope has the
        sign of S = G' - (kappa + t) G. In positive sums S / G is at most that of some term."""
        shells, total, before, cells = self.shells, arb(0), arb.pos_inf(), 4000 + len(self.weights)
        for low, high, terms in self.intervals():
            after = self.slopes(terms, low)[0]
            if not (after <= 0 or before >= after):
                if not (before > 0 and after > 0):
                    return None
                total += (after / before - 1).upper().max(arb(0))
            waiting, before = [(low, high)], self.slopes(terms, high)[0]
            while waiting:
                a, b = waiting.pop()
                c, panel, cells = ((a + b) / 2).mid(), a.union(b), cells - 1
                value, slope, bend, steep = self.slopes(terms, panel)
                middle, middle_slope, *_ = self.slopes(terms, c)
                gain = slope + (shells.kappa + shells.gamma(panel)) * value  # G'
                if slope <= 0 or value <= 0 or middle_slope + bend * (panel - c) <= 0:
                    continue  # g falls, or has no positive part
                if middle + gain * (panel - c) <= 0:
                    continue
                little = (steep * (b - a)).expm1().upper()
                if little < LARGEST_RISE / 1e6 and all(term.sign > 0 for term in terms):
                    total += little.max(arb(0))
                    continue
                if (middle > 0 and middle_slope > LARGEST_RISE * middle) or cells < 0 or not a < b:
                    return None
                waiting += [(a, c), (c, b)]
        return (total * (1 + total)).upper() if total < LARGEST_RISE else None

    def slopes(self, terms: Sequence[Piece], u: arb) -> tuple[arb, arb, arb, arb]:
        """Return G, S, S' and the largest S / G of a term."""
        shells, t = self.shells, self.shells.gamma(u)
        value, slope, bend, steep = arb(0), arb(0), arb(0), arb.neg_inf()
        for term in terms:
            weight, lead = shells.log(term, u, t).exp() * term.sign, term.slope - term.rate * t
            fall = lead - shells.kappa - t
            value, slope, steep = value + weight, slope + weight * fall, steep.max(fall.upper())
            bend += weight * (lead * fall - (term.rate + 1) * t)
        return value, slope, bend, steep


def crossing(shells: Shells, u: Ball, t: Ball, log_ratio: Ball) -> tuple[Ball, Ball] | None:
    """Enclose the curve v = V(u) on which g(x) = p(y), as e = V - u and t e^e; None where it is not
    shown to be there. In logarithms g(x) = p(y) is F(e) := t expm1(e) + kappa e = -ln G.

    Let miss = -ln G - F(e0), and follow F(e) from F(e0) along this segment: e moves with the speed
    |miss| / |T + kappa|, T = t e^e. If |T + kappa| >= L and Re T > 0 within some distance of e0,
    and |miss| / L is no more, it reaches its end. There T + kappa ln T has a derivative of positive
    real part (Noshiro, Warschawski): the solution is unique, and one analytic function of u.
    """
    kappa, c, goal = shells.kappa, t.real.mid(), log_ratio.real.mid()
    if not (c > 1e-300 and goal.is_finite()):
        return None
    if kappa.is_zero():
        e = ((c - goal) / c).log().mid()
    else:
        e = arb(rough_crossing(float(c), float(kappa), -float(goal)))
        e = (e - (c * e.expm1() + kappa * e + goal) / (c * e.exp() + kappa)).mid()  # for digits
    if not e.is_finite():
        return None
    moved = t * e.exp()
    distance = (log_ratio + t * e.expm1() + kappa * e).abs_upper()
    room = 2 * distance / (moved + kappa).abs_lower()
    everywhere = moved * disc(u, room).exp()
    speed = (everywhere + kappa).abs_lower()
    if not (room.is_finite() and everywhere.real > 0 and distance <= room * speed):
        return None
    offset = disc(u, distance / speed)
    return offset + e, moved * offset.exp()


def disc(u: Ball, radius: arb) -> Ball:
    """Return all numbers, real or complex as u is, up to `radius` in size."""
    return within(radius) if isinstance(u, arb) else acb(within(radius), within(radius))


def rough_crossing(t: float, kappa: float, goal: float) -> float:
    """Return about the root e of F(e) = goal, in floats."""
    e = goal / (t + kappa)
    e = min(e, math.log1p(goal / t)) if goal > 0 else e
    for _ in range(60):  # F is convex and rises: Newton's method descends from the right
        step = (t * math.expm1(e) + kappa * e - goal) / (t * math.exp(e) + kappa)
        e -= step
        if abs(step) <= 1e-15 * abs(e):
            break
    return e


def least_overlap(noise: Noise, multiplier: float, shift: Fraction) -> arb:
    """Return a ball whose lower end the integral of min(l p(x), p(x - delta)) has at least. For the
    normal law it is exact: p(x - delta) / p(x) = exp(ratio x_1 - ratio^2/2) < l is x_1 < z."""
    if shift == 0:
        return exact(min(multiplier, 1.0))
    if not noise.gaussian:
        return Mixture(noise, [(multiplier, noise.law(None))], shift).least_overlap()
    factor, ratio, root = exact(multiplier), exact(shift) / exact(noise.sigma), arb(2).sqrt()
    z = factor.log() / ratio + ratio / 2
    return (factor * (z / root).erfc() + ((ratio - z) / root).erfc()) / 2


def event_bound(
    noise: Noise,
    bounds: Sequence[tuple[Law, str, float]],
    steps: Sequence[tuple[float, Sequence[float]]],
    reach: Fraction,
    level: float,
) -> arb:
    """Return a lower bound of the probability of an event at every shift of length <= reach, from
    bounds (law, "lower" or "upper", value) and steps (shift, multipliers) that exceed `level`.

    It covers all shorter shifts where g_+ rises with |x| by a factor 1 + rise at most: the running
    minimum falls, as p does, so that their overlap falls with the shift. B loses `rise` and, as
    nothing is known of g there, P's mass of the innermost shells. Else B loses the total variation
    between P and P shifted down to the next step, 1 less the integral of the minimum of both; this
    is not accepted at level 0.
    """
    shifts = [shift for shift, _ in steps]
    demand(bool(steps) and all(0 < shift < math.inf for shift in shifts), "there are no shifts")
    demand(Fraction(shifts[0]) >= reach, "the steps do not reach the radius")
    demand(all(a > b for a, b in pairwise(shifts)), "the shifts of the steps must fall")
    least = arb(1)
    for (shift, multipliers), below in zip(steps, [*shifts[1:], 0.0], strict=True):
        demand(len(multipliers) == len(bounds) and any(multipliers), "a bound lacks a multiplier")
        with proving(multipliers):
            mixed, value, at = [], arb(0), f"the step at {shift!r}"
            for x, (law, side, known) in zip(multipliers, bounds, strict=True):
                demand(x == 0 or side == ("lower" if x > 0 else "upper"), "a sign does not fit")
                value -= exact(x) * (1 - exact(known))
                mixed += [(x, law)] if x else []
            (x, law), alone = mixed[0], len(mixed) == 1
            if noise.gaussian and alone and law.is_noise and x > 0:
                value += least_overlap(noise, x, Fraction(shift))
                kept = value
            else:
                mixture = Mixture(noise, mixed, Fraction(shift))
                value += mixture.least_overlap()
                rise = mixture.rise() if value > level else None
                kept = arb.neg_inf()
                if rise is not None:
                    kept = value - rise - mixture.shells.below(mixture.low)
            demand(value > level and not value > 1, f"{at} gives {value}")
            if kept > level:
                return least.min(kept.lower())
            demand(level > 0, f"{at} is not shown to hold for shorter shifts")
            value -= 1 - least_overlap(noise, 1.0, Fraction(shift) - Fraction(below))
            demand(value > level, f"{at}, down to {below!r}, gives {value}")
            least = least.min(value.lower())
    return least


def charge(noise: Noise, law: Law, step: float) -> arb:
    """Return what probabilities must be charged for double precision on a grid (FORMAT.md 3).

    The normal law has E|y| >= sigma sqrt(d - 1/2): with E_d = E|y| / sigma, E_(d+2) = E_d (d+1)/d,
    so that E_d^2 / (d - 1/2), which tends to 1, falls by 1 - 1/(2 d^2 (d + 3/2)) from d to d + 2.
    """
    with proving():
        shells, d, weights = noise.shells, exact(noise.d), weights_of(law, ctx.prec)
        if noise.gaussian and law.is_rescaled:
            size = (1 + exact(law.pieces[0][4])).sqrt()
            error, mean = arb(16), exact(noise.sigma) * (d - exact(0.5)).sqrt() / size
        else:
            falls = noise.d > 2 or Mixture(noise, [(1.0, law)], Fraction(0)).rise() is not None
            demand(falls, "in two dimensions the density of a law on a grid must fall")
            error, mean, half = 56 + 16 / shells.m, arb(0), shells.power / 2
            for weight in map(shells.density, weights):  # times |y| / s = t^(1/eta)
                height = weight.height + half * shells.log_m
                mean += shells.mass(replace(weight, height=height, slope=weight.slope + half))
            mean *= shells.scale * arb(2).sqrt()
        amount = error * (4 * d + 2 * d.sqrt() * mean / exact(step)) / arb(2) ** 53
        demand(amount.is_finite(), "the mean norm under a law cannot be enclosed")
        return amount.min(arb(1)).upper()


def staged_tail(first: int, hits: int, n: int, p: arb) -> arb:
    """Enclose p^first Pr[X >= hits], X ~ Binomial(n, p): it is Pr[Beta(hits, n - hits + 1) < p]."""
    if 2 * hits < n:  # the smaller side is the fast one
        return p**first * (p.beta_lower(hits, n - hits + 1, 1) if hits > 0 else arb(1))
    return p**first * (1 - (1 - p).beta_lower(n - hits + 1, hits, 1))


# ------------------------------------------------------- tails and Phi, also without python-flint

PLACES = 320  # bits of whole-number arithmetic; every rounding is away from a proof
ONE = 1 << PLACES
MOST_VOTES = 10**6  # without python-flint
PI_BELOW = Fraction(314159265358979323846264338327950288419716939937510, 10**50)
Rounded = tuple[int, int]  # mantissa, exponent of 2: never below what it stands for


def rounded_up(x: Fraction | int, exponent: int = 0) -> Rounded:
    shift = PLACES - x.numerator.bit_length() + x.denominator.bit_length()
    scaled = x.numerator << max(shift, 0)
    return -(-scaled // (x.denominator << max(-shift, 0))), exponent - shift


def product(a: Rounded, b: Rounded) -> Rounded:
    return rounded_up(a[0] * b[0], a[1] + b[1])


def power(base: Rounded, k: int) -> Rounded:
    if k == 0:
        return 1, 0
    half = power(product(base, base), k // 2)
    return product(base, half) if k % 2 else half


def whole_tail_at_most(x: int, n: int, p: Fraction, alpha: Fraction, first: int = 0) -> bool:
    """Whether p^first Pr[Binomial(n, p) >= x] <= alpha, shown with whole numbers.

    Beyond the mean the terms fall, each by a smaller factor than the one before it.
    """
    tail = (1, 0)
    if x > n * p:
        tail = product(power(rounded_up(p), x), power(rounded_up(1 - p), n - x))
        odds, term, units, k = p / (1 - p), ONE, 0, x
        while k <= n and term > 1:
            units += term
            term = -(-term * (n - k) * odds.numerator // ((k + 1) * odds.denominator))
            k += 1
        units += max(n - k + 1, 0)
        tail = product(tail, product(rounded_up(math.comb(n, x)), rounded_up(units, -PLACES)))
    mantissa, exponent = product(tail, power(rounded_up(p), first))
    return mantissa * Fraction(2) ** exponent <= alpha


def whole_normal_below(x: Fraction, value: Fraction) -> bool:
    """Whether Phi(x) < value for x > 0, shown with whole numbers, by the series of Phi about 0."""
    if x > 20:
        return value == 1  # Phi(20) is above every double but 1
    low, high = x.numerator * ONE // x.denominator, -(-x.numerator * ONE // x.denominator)
    square_low, square_high = low * low // (2 * ONE), -(-high * high // (2 * ONE))
    total, k = 0, 0
    while high > 1 or k * ONE < 2 * square_high:
        total += high // (2 * k + 1) + 1 if k % 2 == 0 else -(low // (2 * k + 1))
        k += 1
        low, high = low * square_low // (k * ONE), -(-high * square_high // (k * ONE))
    root = math.isqrt(ONE**2 * PI_BELOW.denominator // (2 * PI_BELOW.numerator)) + 1
    return Fraction((total + high + 1) * root, ONE**2) + Fraction(1, 2) < value


def whole_charge(noise: Noise, step: float) -> Fraction:
    """An upper bound of the charge of Gaussian noise on a grid (FORMAT.md 3)."""
    root = math.isqrt(noise.d * (2 * noise.d - 1) << 127) + 1  # of d (d - 1/2), times 2^64
    far = Fraction(root, 1 << 63) * Fraction(noise.sigma) / Fraction(step)
    return min(16 * (4 * noise.d + far) / 2**53, Fraction(1))


def tail_at_most(x: int, n: int, p: Fraction, extra: Any, alpha: Fraction, first: int = 0) -> bool:
    """Whether (p + extra)^first Pr[Binomial(n, p + extra) >= x] <= alpha."""
    if ctx is None:
        demand(n <= MOST_VOTES, "so many votes need python-flint")
        return p + extra < 1 and whole_tail_at_most(x, n, p + extra, alpha, first)
    with proving():
        ball = exact(p) + (exact(extra) if isinstance(extra, Fraction) else extra)
        return bool(ball < 1 and staged_tail(first, x, n, ball) <= exact(alpha))


def normal_below(x: Fraction, value: Fraction) -> bool:
    """Whether Phi(x) < value."""
    if ctx is None or x > 20:
        return whole_normal_below(x, value)
    with proving():
        return bool((exact(x) / arb(2).sqrt()).erf() < exact(2 * value - 1))


# ---------------------------------------------------------------------------------------- reading


class Unreadable(Exception):
    """The file is no proof file."""


class Fields:
    """A JSON object with all of some fields, perhaps some others, and no more."""

    def __init__(self, value: Any, what: str, needed: str, others: str = "") -> None:
        self.values = typed(value, dict, what)
        missing = set(needed.split()) - set(self.values)
        strange = set(self.values) - set(needed.split()) - set(others.split())
        demand(not missing, f"{what} lacks {', '.join(sorted(missing))}")
        demand(not strange, f"{what} has unknown fields: {shown(sorted(strange))}")

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def __getitem__(self, name: str) -> Any:
        return self.values.get(name)

    def number(self, name: str) -> Fraction:
        return number(self[name], name)

    def count(self, name: str) -> int:
        return count(self[name], name)

    def label(self, name: str) -> str:
        return str(self[name] if isinstance(self[name], str) else self.count(name))

    def list(self, name: str, length: int | None = None) -> Any:
        return typed(self[name], list, name, length)

    def word(self, name: str, words: tuple[str, ...]) -> Any:
        demand(self[name] in words, f"{name} is {shown(self[name])}, not {' or '.join(words)}")
        return self[name]


def parsed(line: bytes) -> Any:
    """The value of a line of JSON; NotProved where it is none, or names a field twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        demand(len(dict(pairs)) == len(pairs), "a field is given twice")
        return dict(pairs)

    def refuse(word: str) -> Any:
        raise NotProved(f"{word} is no number of JSON")

    try:
        return json.loads(line.decode(), object_pairs_hook=once, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise NotProved(f"this is no JSON: {error}") from None


def number(value: Any, name: str) -> Fraction:
    """The double that a JSON number stands for, exactly."""
    demand(type(value) in (int, float), f"{name} is not a number: {shown(value)}")
    demand(abs(value) <= sys.float_info.max, f"{name} is not a double: {shown(value)}")
    return Fraction(float(value))


def count(value: Any, name: str) -> int:
    demand(type(value) is int and 0 <= value <= 2**53, f"{name} is not a count: {shown(value)}")
    return int(value)


def typed(value: Any, kind: type, name: str, length: int | None = None) -> Any:
    """A list, an object or a text of the file."""
    demand(isinstance(value, kind), f"{name} is no {kind.__name__} of JSON")
    demand(length is None or len(value) == length, f"{name} has not {length} entries")
    return value


def shown(value: Any) -> str:
    """A value of the file in messages: short, and without control characters."""
    written = ascii(value)
    return written if len(written) < 80 else written[:77] + "..."


# ------------------------------------------------------------------------ what was fixed before


def read_looks(value: Any) -> list[tuple[int, Fraction]]:
    """Looks: after how many votes, and with which share of alpha."""
    pairs = [typed(look, list, "a look", 2) for look in typed(value, list, "looks")]
    looks = [(count(n, "votes"), number(alpha, "a share of alpha")) for n, alpha in pairs]
    rising = all(a < b for (a, _), (b, _) in pairwise([(0, Fraction(0)), *looks]))
    demand(bool(looks) and rising, "the votes of looks must rise from 1 on")
    demand(all(alpha >= 0 for _, alpha in looks), "a share of alpha is negative")
    return looks


class PlannedBound:
    """A bound that was fixed before its votes (FORMAT.md 4).

    Its `looks` are None where it is given, or where they are chosen for each input within `alpha`.
    """

    def __init__(self, line: Any, streams: int) -> None:
        fields = Fields(line, "a bound", "stream event side", "looks then alpha given")
        self.stream, self.given = fields.count("stream"), "given" in fields
        self.event = fields.word("event", ("class", "others"))
        self.side = fields.word("side", ("lower", "upper"))
        demand(self.stream < streams, "a bound names a stream that its form does not have")
        demand(self.event == "class" or self.side == "lower", "bounds of others are lower ones")
        ways = sum(name in fields for name in ("looks", "alpha", "given"))
        demand(ways == 1, "a bound has one of looks, alpha and given")
        demand(not self.given or fields["given"] is True, "`given` is true, or missing")
        self.looks = read_looks(fields["looks"]) if "looks" in fields else None
        chosen = fields.number("alpha") if "alpha" in fields else Fraction(0)
        demand(chosen >= 0, "a share of alpha is negative")
        self.alpha = chosen if self.looks is None else sum(Fraction(a) for _, a in self.looks)
        self.then = fields.count("then") if "then" in fields else None
        if self.then is not None:
            one = self.looks is not None and len(self.looks) == 1 and self.looks[0][0] < self.then
            demand(one and self.event == "class" and self.side == "lower", "`then` does not fit")


class Form:
    """The streams and the bounds of one way to certify an input."""

    def __init__(self, line: Any, alpha: Fraction | None) -> None:
        fields = Fields(line, "a form", "streams bounds")
        self.streams = [x if x == "chosen" else read_law(x) for x in fields.list("streams")]
        self.bounds = [PlannedBound(each, len(self.streams)) for each in fields.list("bounds")]
        names = {(bound.stream, bound.event, bound.side) for bound in self.bounds}
        demand(len(names) == len(self.bounds), "a form has the same bound twice")
        total = sum((bound.alpha for bound in self.bounds), Fraction(0))
        demand(alpha is not None or all(b.given for b in self.bounds), "votes need an alpha")
        demand(total <= (alpha or 0), f"the bounds of a form spend {float(total)!r} of alpha")


class Plan:
    """What the certificates of a file share (FORMAT.md 3)."""

    def __init__(self, line: Any) -> None:
        fields = Fields(line, "a plan", "plan about noise grid alpha methods", "family")
        typed(fields["about"], dict, "about")
        noise = Fields(fields["noise"], "the noise", "d sigma k eta")
        sigma, k, eta = (float(noise.number(name)) for name in ("sigma", "k", "eta"))
        self.noise = Noise(noise.count("d"), sigma, k, eta)
        self.step = None if fields["grid"] is None else float(fields.number("grid"))
        self.alpha = None if fields["alpha"] is None else fields.number("alpha")
        demand(self.alpha is None or 0 < self.alpha < 1, "alpha must lie between 0 and 1")
        demand(self.step is None or self.step > 0, "the step of a grid must be positive")
        self.certificates, self.most = 0, math.inf
        if "family" in fields:
            family = Fields(fields["family"], "the family", "alpha size")
            self.most, together = family.count("size"), family.number("alpha")
            demand(self.most * (self.alpha or 1) <= together < 1, "the family overspends alpha")
        self.methods = {
            name: [Form(each, self.alpha) for each in typed(forms, list, "the forms of a method")]
            for name, forms in typed(fields["methods"], dict, "methods").items()
        }
        self._laws: dict[Any, Law] = {}
        self._charges: dict[Any, Any] = {}

    def law(self, pieces: Any) -> Law:
        demand(ctx is not None, "this needs python-flint: pip install python-flint")
        return self._laws.setdefault(pieces, self._laws.get(pieces) or self.noise.law(pieces))

    def charge(self, pieces: Any) -> Any:
        """What bounds under a law are charged for noise on the grid."""
        if self.step is not None and pieces not in self._charges:
            if pieces is None and self.noise.gaussian:
                self._charges[pieces] = whole_charge(self.noise, self.step)
            else:
                self._charges[pieces] = charge(self.noise, self.law(pieces), self.step)
        return self._charges.get(pieces, Fraction(0))


def read_law(value: Any) -> Any:
    return None if value is None else tuple(map(read_piece, typed(value, list, "a law")))


def read_piece(value: Any) -> tuple[float, ...]:
    start, stop, *rest = typed(value, list, "a piece of a law", 5)
    end = math.inf if stop == "inf" else float(number(stop, "a law"))
    first, *others = (float(number(x, "a law")) for x in (start, *rest))
    return first, end, *others


# ----------------------------------------------------------------------------------- certificates


class Stream:
    """Votes of one input under one law: its rows of counts by class, by their sums."""

    def __init__(self, line: Any) -> None:
        fields = Fields(line, "a stream", "law counts")
        lists = [typed(row, list, "a row of counts") for row in fields.list("counts")]
        rows = [[count(n, "counts") for n in row] for row in lists]
        for before, after in pairwise(rows):
            demand(len(before) == len(after), "the rows of a stream have different classes")
            demand(all(a <= b for a, b in zip(before, after, strict=True)), "votes were taken back")
            demand(sum(before) < sum(after), "the rows of a stream must grow")
        self.law, self.rows = read_law(fields["law"]), {sum(row): row for row in rows}


class Answer:
    """The class that is certified, or the set that it belongs to."""

    def __init__(self, fields: Fields) -> None:
        self.target = fields.count("class")
        demand(not ("merged" in fields and "kept" in fields), "an answer is merged or kept")
        own = {self.target}
        for name in ("merged", "kept"):
            if name in fields:
                own = {count(c, name) for c in fields.list(name)}
                demand(self.target in own and len(own) == len(fields.list(name)), f"no such {name}")
        self.own, self.event = own, own if "merged" in fields else {self.target}

    def hits(self, event: str, row: list[int]) -> int:
        """How many votes of a row are in the event: for "others" with the worst rival."""
        if event == "class":
            return sum(n for c, n in enumerate(row) if c in self.event)
        return sum(row) - max((n for c, n in enumerate(row) if c not in self.own), default=0)


class Bound(NamedTuple):
    """A bound that was shown, or is given: the pieces of its law, and the value."""

    law: Any
    event: str
    side: str
    value: Fraction


class Certificate:
    """The bounds of one method for one input, and what follows from them."""

    def __init__(self, plan: Plan, forms: list[Form], line: Any, streams: list[Stream]) -> None:
        fields = Fields(line, "a certificate", "form class streams bounds claims", "merged kept")
        demand(fields.count("form") < len(forms), "the method has no such form")
        self.plan, self.answer, form = plan, Answer(fields), forms[fields.count("form")]
        self.given = 0
        self.streams: list[Stream | None] = []
        for law, at in zip(form.streams, fields.list("streams", len(form.streams)), strict=True):
            stream = None
            if at is not None:
                demand(count(at, "a stream") < len(streams), "there is no such stream")
                stream = streams[at]
                demand(law in ("chosen", stream.law), "a stream is under another law than planned")
                demand(stream not in self.streams, "a stream is used twice")
            self.streams.append(stream)
        pairs = zip(form.bounds, fields.list("bounds", len(form.bounds)), strict=True)
        self.bounds = [None if x is None else self.shown_bound(bound, x) for bound, x in pairs]
        self.claims = fields.list("claims")
        demand(bool(self.claims), "a certificate claims something")

    def shown_bound(self, bound: PlannedBound, line: Any) -> Bound:
        """A bound that is given, or follows from votes at a look (FORMAT.md 5)."""
        fields, stream = Fields(line, "a value", "value", "look looks"), self.streams[bound.stream]
        value = fields.number("value")
        if stream is None or not 0 <= value <= 1:
            raise NotProved("a bound of no votes, or no probability")
        shown_bound = Bound(stream.law, bound.event, bound.side, value)
        looks, self.given = bound.looks, self.given + bound.given
        if bound.given:
            demand(set(fields.values) == {"value"}, "a given bound has no look")
            return shown_bound
        demand((looks is None) == ("looks" in fields), "looks are planned, or chosen")
        if looks is None:
            looks = read_looks(fields["looks"])
            demand(sum(share for _, share in looks) <= bound.alpha, "the looks overspend alpha")
        demand(fields.count("look") < len(looks), "there is no such look")
        votes, alpha = looks[fields.count("look")]
        demand(votes in stream.rows, f"there is no row of counts after {votes} votes")
        x, first = self.answer.hits(bound.event, stream.rows[votes]), 0
        if x == votes and bound.then in stream.rows:
            assert bound.then is not None
            x = self.answer.hits(bound.event, stream.rows[bound.then]) - votes
            first, votes = votes, bound.then - votes
        p, x = (value, x) if bound.side == "lower" else (1 - value, votes - x)
        said = f"{x} of {votes} votes do not show a {bound.side} bound of {float(value)!r}"
        extra = self.plan.charge(stream.law)
        demand(p <= 0 or tail_at_most(x, votes, p, extra, alpha, first), said)
        return shown_bound

    def prove_reach(self, proof: Any, reach: Fraction | None) -> None:
        """Raise NotProved unless a proof reaches so far; None: everywhere (FORMAT.md 6)."""
        ((way, value),) = typed(proof, dict, "a proof").items() or (("nothing", None),)
        if way in ("any", "all"):
            self.join(way, typed(value, list, way), reach)
        elif way == "sure":
            bound = self.lower_bound(value)
            sure = bound.value == 1 and self.plan.law(bound.law).full_support
            demand(sure, "the class is not sure under a law that reaches everywhere")
        elif reach is None:
            raise NotProved("an infinite radius needs a class that is never wrong")
        elif way == "gaussian":
            bound, noise = self.lower_bound(value), self.plan.noise
            demand(noise.gaussian and bound.law is None, "this way is for Gaussian noise alone")
            proved = normal_below(reach / Fraction(noise.sigma), bound.value)
            demand(proved, "the bound does not prove the radius")
        elif way == "majority":
            self.event(value, ("class",), reach, 0.5)
        else:
            demand(way == "lead", f"there is no proof by {shown(way)}")
            first, second = typed(value, list, "a lead", 2)
            together = self.event(first, ("class",), reach, 0.0)
            together += self.event(second, ("class", "others"), reach, 0.0)
            demand(bool(together > 1), f"the two events have only {together} together")

    def join(self, way: str, parts: list[Any], reach: Fraction | None) -> None:
        """Raise NotProved unless `any` or `all` of some proofs reach so far."""
        reasons = []
        for part in parts:
            try:
                self.prove_reach(part, reach)
            except NotProved as reason:
                reasons.append(str(reason))
        allowed = 0 if way == "all" else len(parts) - 1
        demand(bool(parts) and len(reasons) <= allowed, "; ".join(reasons) or "nothing to prove")

    def bound(self, place: Any) -> Bound:
        known = dict(enumerate(self.bounds)).get(count(place, "a bound"))
        if known is None:
            raise NotProved("a proof uses a bound that was not taken")
        return known

    def lower_bound(self, place: Any) -> Bound:
        bound = self.bound(place)
        demand((bound.event, bound.side) == ("class", "lower"), "not a lower bound of the class")
        return bound

    def event(self, line: Any, events: tuple[str, ...], reach: Fraction, level: float) -> arb:
        """A lower bound of an event's probability at every shift up to `reach`."""
        fields = Fields(line, "an event", "bounds steps")
        bounds = [self.bound(place) for place in fields.list("bounds")]
        for bound in bounds:
            fits = bound.event == events[-1] or (bound.event in events and bound.side == "lower")
            demand(fits, f"a bound of {bound.event!r} says nothing of this event")
        steps = []
        for step in (Fields(each, "a step", "shift multipliers") for each in fields.list("steps")):
            values = [number(x, "a multiplier") for x in step.list("multipliers", len(bounds))]
            steps.append((float(step.number("shift")), [float(x) for x in values]))
        known = [(self.plan.law(bound.law), bound.side, float(bound.value)) for bound in bounds]
        return event_bound(self.plan.noise, known, steps, reach, level)


def prove_certificate(
    plan: Plan, forms: list[Form], line: Any, streams: list[Stream], moved: Fraction
) -> int:
    """Raise NotProved unless every claim follows from the bounds; how many of these are given."""
    certificate = Certificate(plan, forms, line, streams)
    for claim in (Fields(each, "a claim", "radius proof") for each in certificate.claims):
        radius = None if claim["radius"] == "inf" else claim.number("radius")
        demand(radius is None or radius > 0, "a radius must be positive")
        certificate.prove_reach(claim["proof"], None if radius is None else radius + moved)
    return certificate.given


# ------------------------------------------------------------------------ prediction sets, attacks


def prove_sets(plan: Plan, fields: Fields) -> None:
    """Raise NotProved unless prediction sets cover what they say (FORMAT.md 7)."""
    coverage, radius, aside = (fields.number(name) for name in ("coverage", "radius", "aside"))
    multiplier, least, level = (fields.number(x) for x in ("multiplier", "overlap", "level"))
    draws, rank = fields.count("draws"), fields.count("rank")
    demand(0 < coverage < 1 and radius >= 0 and aside >= 0 and 0 <= level <= 1, "no such sets")
    demand(draws >= 1 and multiplier > 0, "no such sets")
    made = Fields(fields["calibration"], "the calibration", "inputs draws")
    inputs, each = made.count("inputs"), made.count("draws")
    scores = sorted(number(x, "a score") for x in fields.list("scores"))
    demand(inputs * each == len(scores) > 0, "there is not one score for each input and draw")
    if fields["threshold"] != "inf":
        demand(1 <= rank <= len(scores), "the rank is not that of a score")
        demand(fields.number("threshold") >= scores[rank - 1], "the threshold is too low")
    with proving([float(multiplier)]):
        stray, one = plan.charge(None), coverage if draws == 1 else (1 + coverage) / 2
        stray = exact(stray) if isinstance(stray, Fraction) else stray
        found = least_overlap(plan.noise, float(multiplier), radius + 2 * aside)
        demand(bool(exact(least) <= found), f"the overlap is only known to be {found}")
        needed = 1 - (exact(least - one) - stray) / exact(multiplier) + stray
        demand(bool(exact(level) >= needed), f"the level must be at least {needed}")
    if fields["confidence"] is None:
        demand(rank >= each * (inputs + 1) * level, "the rank is too low for the level")
        return
    eta = 1 - fields.number("confidence")
    demand(0 < eta < 1, "no such confidence")
    holds = mean_at_most(Fraction(rank, len(scores)), inputs, level, eta)
    if each == 1:
        holds = level == 0 or tail_at_most(rank, inputs, level, Fraction(0), eta)
    demand(holds, "the rank does not hold with this confidence")


def mean_at_most(share: Fraction, n: int, level: Fraction, eta: Fraction) -> bool:
    """Whether n q ln(q/p) + n (1-q) ln((1-q)/(1-p)) >= ln(1/eta): Hoeffding, for means."""
    if share > 1 or level == 0 or share <= level:
        return share > 1 or level == 0
    with proving():
        p, q = exact(level), exact(share)
        rest = (1 - q) * ((1 - q) / (1 - p)).log() if share < 1 else arb(0)
        return bool(n * (q * (q / p).log() + rest) >= -exact(eta).log())


def prove_attack(plan: Plan, fields: Fields) -> None:
    """Raise NotProved unless fresh votes show what a counterexample says (FORMAT.md 8)."""
    place, target, rival = (fields.count(name) for name in ("point", "class", "rival"))
    counts = [count(n, "counts") for n in fields.list("counts")]
    demand(max(target, rival) < len(counts) and target != rival, "no such classes")
    demand(fields.number("distance") >= 0, "a distance is negative")
    shares = [number(x, "a share") for x in fields.list("points")]
    demand(place < len(shares) and all(share >= 0 for share in shares), "no such point")
    demand(sum(shares) <= (plan.alpha or 0), "the points spend more than alpha")
    alpha, extra = shares[place], plan.charge(None)
    shows = fields.word("shows", ("majority lost", "answer changed"))
    n, x, y, half = sum(counts), counts[target], counts[rival], Fraction(1, 2)
    if fields.word("of", ("majority", "lead")) == "majority" or shows == "majority lost":
        demand(tail_at_most(n - x, n, half, extra, alpha), "the votes leave the class a majority")
    if shows == "answer changed":
        enough = n >= 2000 and 8 * (x + y) >= n and alpha >= Fraction(1e-20)
        demand(plan.step is None or enough, "there are too few votes, or too little alpha")
        ahead = tail_at_most(y, x + y, half, 16 * extra, alpha)
        demand(ahead, "the rival is not shown to be ahead")


# ------------------------------------------------------------------------------------ whole files

SETS = """plan sets coverage radius aside draws confidence multiplier overlap level rank calibration
scores threshold"""
ATTACK = "plan attack method class distance points point rival counts shows of"


class Item(NamedTuple):
    """Something that a file claims: what it is called, and what raises unless it is proved."""

    name: str
    line: int
    prove: Callable[[], int | None]  # returns how many bounds are given


class ProofFile:
    """A proof file, its structure checked; nothing is proved yet. Raises Unreadable."""

    def __init__(self, content: bytes) -> None:
        self.digest = hashlib.sha256(content).hexdigest()
        self.about: dict[str, Any] = {}
        self.plans: dict[str, Plan] = {}
        self.items: list[Item] = []
        self._seen: set[Any] = set()
        lines = [(n, line) for n, line in enumerate(content.split(b"\n"), 1) if line.strip()]
        for at, line in lines or [(1, b"")]:
            try:
                self.add(parsed(line), at, head=at == lines[0][0])
            except NotProved as reason:
                raise Unreadable(f"line {at}: {reason}") from None
        if any(plan.certificates > plan.most for plan in self.plans.values()):
            raise Unreadable("a plan has more certificates than its family")

    def add(self, value: Any, at: int, head: bool) -> None:
        if head:
            fields = Fields(value, "the head", "format about")
            demand(fields["format"] == FORMAT, f"this checker reads {FORMAT}")
            self.about = typed(fields["about"], dict, "about")
            return
        if "unproved" in typed(value, dict, "a line"):
            fields = Fields(value, "what was lost", "unproved reason")
            lost = partial(demand, False, typed(fields["reason"], str, "reason"))
            self.items.append(Item(typed(fields["unproved"], str, "unproved"), at, lost))
            return
        name = typed(value.get("plan"), str, "plan")
        if "methods" in value:
            demand(name not in self.plans, f"the plan {name} stands there twice")
            self.plans[name] = Plan(value)
            return
        demand(name in self.plans, f"there is no plan {shown(name)} before this line")
        plan = self.plans[name]
        if "input" in value:
            fields = Fields(value, "an input", "plan input moved streams certificates")
            self.add_input(plan, fields, at)
        elif "sets" in value:
            fields = Fields(value, "prediction sets", SETS)
            called = f"sets {typed(fields['sets'], str, 'sets')}"
            self.add_item(called, at, partial(prove_sets, plan, fields))
        else:
            fields = Fields(value, "an attack", ATTACK)
            method = typed(fields["method"], str, "method")
            called = f"attack on input {fields.label('attack')}, {method}"
            self.add_item(called, at, partial(prove_attack, plan, fields))

    def add_input(self, plan: Plan, fields: Fields, at: int) -> None:
        index, moved = fields.label("input"), fields.number("moved")
        demand(moved >= 0, "an input moved by less than nothing")
        streams = [Stream(each) for each in fields.list("streams")]
        demand(
            len({stream.law for stream in streams}) == len(streams),
            "two streams of an input have one law",
        )
        for method, line in typed(fields["certificates"], dict, "certificates").items():
            demand(method in plan.methods, f"the plan has no method {shown(method)}")
            plan.certificates += 1
            proof = partial(prove_certificate, plan, plan.methods[method], line, streams, moved)
            self.add_item(f"input {index}, {method}", at, proof, index, method)

    def add_item(self, name: str, at: int, prove: Callable[[], int | None], *key: str) -> None:
        demand((key or name) not in self._seen, f"{shown(name)} stands there twice")
        self._seen.add(key or name)
        self.items.append(Item(name, at, prove))


def outcome(item: Item) -> dict[str, Any]:
    """Prove one item. Whatever goes wrong, it is not proved."""
    said: dict[str, Any] = {"name": item.name, "line": item.line, "proved": False}
    try:
        return said | {"proved": True, "given": item.prove() or 0}
    except NotProved as reason:
        return said | {"reason": str(reason)}
    except (ArithmeticError, LookupError, NameError, TypeError, ValueError, RuntimeError) as error:
        return said | {"reason": f"{type(error).__name__}: {error}"}


# --------------------------------------------------------------------------------------- commands

DESCRIPTION = """\
Check a file of proofs about smoothed classifiers (FORMAT.md): prove from counts of votes that no
shift shorter than a radius changes the answer. Nothing is searched and nothing is chosen. Exit
codes: 0 everything is proved, 1 something is not or nothing is claimed, 2 this is no proof file."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("dsrs-check", description=DESCRIPTION)
    parser.add_argument("file", help="a proof file")
    parser.add_argument("--json", action="store_true", help="print a JSON object on each line")
    asked = parser.parse_args(arguments)
    try:
        demand(os.path.isfile(asked.file), "it is no file")
        with open(asked.file, "rb") as file, open(__file__, "rb") as own:
            proofs, checker = ProofFile(file.read()), hashlib.sha256(own.read()).hexdigest()
    except (OSError, NotProved, Unreadable) as error:
        print(f"dsrs-check: {asked.file!a} cannot be read: {error}", file=sys.stderr)
        return 2
    proved = given = 0
    for n, item in enumerate(proofs.items, 1):
        said = outcome(item)
        proved, given = proved + said["proved"], given + said.get("given", 0)
        if asked.json:
            print(json.dumps(said), flush=True)
        elif said["proved"]:
            print(f"proved: {item.name!a} ({n} of {len(proofs.items)})", flush=True)
        else:
            print(f"NOT PROVED: {item.name!a} (line {item.line}): {said['reason']!a}", flush=True)
    if asked.json:
        counts = {"proved": proved, "of": len(proofs.items), "given": given}
        digests = {"file_sha256": proofs.digest, "checker_sha256": checker}
        print(json.dumps({"summary": counts | digests}))
    else:
        print(
            "\n".join(f"about {shown(key)}: {shown(value)}" for key, value in proofs.about.items())
        )
        print(f"SHA-256 of the file    {proofs.digest}\nSHA-256 of the checker {checker}")
        print("taken as given: honest counts, what was fixed before the votes (FORMAT.md 9),")
        print(f"and {given} bounds that rest on no votes")
        print(f"proved {proved} of {len(proofs.items)}")
    return 0 if proved == len(proofs.items) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
