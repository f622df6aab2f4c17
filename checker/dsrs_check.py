"""Check smoothing certificates: the mathematics. Needs Python and python-flint, nothing else.

Noise P in d dimensions is round: its density falls with the norm as |x|^(-2k) exp(-t), where
t = (|x|/s)^eta ~ Gamma(m, 1), m = (d - 2k)/eta. A law Q has the density w p, where the weight w
depends on the shell t alone. For multipliers l_i of either sign let g = sum of l_i q_i. An event
with probability X_i under Q_i has, where the input is shifted by delta, at least the probability

    B = integral of min(g(x), p(x - delta)) dx - sum of l_i (1 - X_i),             (weak duality)

because f p(x - delta) >= f g - (g - p(x - delta))_+ for every f between 0 and 1. Where X_i is only
known to be at least a value, l_i >= 0 keeps this true; where at most, l_i <= 0.

Shells are named by u = ln(t/m) for x and by v for y = x - delta. Lengths are in units of
s / sqrt(2), so that h = |x|^2 / 2 = t^(2/eta); rho is the length of the shift in them.

A number is a ball (Arb) that holds the true value, and a comparison is true only if it holds for
all members of both sides. Nothing is searched for and no clock is read; work is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Protocol, TypeVar

try:
    from flint import acb, arb, arb_poly, arb_series, ctx
except ImportError:  # what needs it says so
    ctx = None

BITS = 100  # of every number: what is left where exponents of 1e5 cancel
LARGEST_MULTIPLIER = 1e200
EVALUATIONS = 1_000_000  # of integrands, for one step of a proof
SHARP = 1e-17  # what a panel of an integral may miss
DEPTH = 48.0  # shells with a density below e^-DEPTH are left to bounds of tails
MOST_PIECES = 2_000  # of a law
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
    """Compute with BITS, and as many more as large multipliers take away.

    Whatever goes wrong inside, nothing is proved.
    """
    demand(ctx is not None, "this needs python-flint: pip install python-flint")
    demand(all(abs(l) < LARGEST_MULTIPLIER for l in multipliers), "a multiplier is too large")
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
    """Return the number itself; a float is its binary value."""
    if isinstance(value, Fraction):
        return arb(value.numerator) / arb(value.denominator)
    return arb(value)


def within(radius: arb) -> arb:
    """Return a ball around 0 that holds everything up to `radius` in size."""
    return arb(0, radius.abs_upper())


def up_to(most: arb) -> arb:
    """Return a ball that holds everything from 0 to `most`."""
    return arb(0).union(most.upper())


# -------------------------------------------------------------------------------------- integrals


@dataclass
class Budget:
    """How many integrands may still be evaluated."""

    left: int = EVALUATIONS

    def spend(self, count: int) -> None:
        """Take `count` evaluations."""
        self.left -= count
        demand(self.left >= 0, "it takes more evaluations than one step may have")


class Integrand(Protocol):
    """A real function f that is analytic nearly everywhere.

    It returns its values on all members of u. On a box they are those of a function that is
    analytic there, and the second ball bounds by how much f differs from it on the real line.
    None: no such function is seen.
    """

    def __call__(self, u: Ball, /) -> tuple[Ball, arb] | None: ...


# Names a panel on which f is not seen to be analytic and gives its integral, if it can.
Settle = Callable[["arb", "arb"], "tuple[str, arb | None]"]


def panels(
    f: Integrand, low: arb, high: arb, budget: Budget, settle: Settle | None, sharp: float
) -> Iterator[tuple[arb, arb, str, arb]]:
    """Yield panels from left to right: both ends, a name, and the integral of f.

    A panel is halved until a Gauss rule, `settle`, or its length times the range of f is sharp.
    """
    waiting = [(low, high)]
    while waiting:
        a, b = waiting.pop()
        name, part = "analytic", gauss(f, a, b, budget, sharp)
        if part is None and settle is not None:
            name, part = settle(a, b)
        if part is None:
            name, part = "analytic", length_times_range(f, a, b, budget, sharp)
        if part is not None:
            yield a, b, name, part
            continue
        middle = ((a + b) / 2).mid()
        demand(a < middle and middle < b, "an integrand cannot be enclosed where it has a kink")
        waiting += [(middle, b), (a, middle)]


def integral(f: Integrand, low: arb, high: arb, budget: Budget, sharp: float = SHARP) -> arb:
    """Enclose the integral of f from low to high."""
    return sum((part for *_, part in panels(f, low, high, budget, None, sharp)), arb(0))


def length_times_range(f: Integrand, a: arb, b: arb, budget: Budget, sharp: float) -> arb | None:
    """Enclose the integral on a panel where little is at stake; None where this is not sharp."""
    budget.spend(1)
    values = f(a.union(b))
    part = arb.nan() if values is None else values[0] * (b - a)
    return part if part.is_finite() and part.rad() < sharp else None


def gauss(f: Integrand, a: arb, b: arb, budget: Budget, sharp: float) -> arb | None:
    """Enclose the integral of f on a panel by a Gauss-Legendre rule; None where it is not sharp.

    Let f be analytic on the ellipse around [-1, 1] with half axes (z + 1/z)/2 and (z - 1/z)/2, and
    |f| <= M there. Its Chebyshev coefficients are at most 2 M z^-j. The rule with n >= 2 nodes is
    exact to degree 2n - 1; odd terms integrate to 0; the integral of T_j is at most 2/(j^2 - 1), and
    the rule gives at most 2 for it, since its weights are positive with the sum 2. So it misses

        sum over even j >= 2n of 2 M z^-j (2 + 2/15)  =  (64/15) M z^-2n / (1 - z^-2)

    at most. Here z = 3, and the ellipse is put into a box.
    """
    half, middle = (b - a) / 2, (a + b) / 2
    budget.spend(1)
    on_box = f(acb(middle + within(half * 5 / 3), within(half * 4 / 3)))
    if on_box is None:
        return None
    most = half.abs_upper() * on_box[0].abs_upper()
    if not most < sharp * 1e19:  # shorter panels need fewer nodes in all
        return None
    digits = math.log(max(5 * float(most) / sharp, 1.0))
    count = max(4, 2 * math.ceil(digits / (4 * math.log(3))))
    budget.spend(count)
    total = arb(0)
    for node, weight in rule(count, ctx.prec):
        value = f(middle + half * node)
        if value is None:
            return None
        total += weight * value[0]
    return half * total + within(most * 24 / 5 / arb(9) ** count + on_box[1] * (b - a).upper())


@lru_cache(maxsize=256)
def rule(count: int, precision: int) -> list[tuple[arb, arb]]:
    """Return the nodes and weights of a Gauss-Legendre rule, enclosed."""
    return [arb.legendre_p_root(count, k, weight=True) for k in range(count)]


# ------------------------------------------------------------------------------------- directions


class Angle:
    """The cosine c between a uniform direction in d dimensions and a fixed one.

    (1 + c)/2 ~ Beta((d-1)/2, (d-1)/2): its density is top (1 - c^2)^n on (-1, 1), n = (d - 3)/2.
    """

    def __init__(self, d: int) -> None:
        self.d, self.n, self.rest = d, arb(d - 3) / 2, arb(d - 1) / 2
        self.top = self.density_at_0(d)
        # By parts: Pr[cosine > c] is less in d dimensions than in d - 2, by
        # top c (1 - c^2)^n / (2n + 1) with the top and n of d.
        few = range(4 if d % 2 == 0 else 5, d + 1, 2) if d <= 16 else ()
        self.terms = [self.density_at_0(e) / (e - 2) for e in few]
        # Beyond `far` the density falls: Pr[cosine > far] is at most its length times its height.
        tiny = arb(2) ** -(ctx.prec + 33)
        far = (1 - tiny ** (1 / self.rest)).sqrt().mid()
        self.far, self.left_out = arb(1), arb(0)
        if far < 0.999:
            self.far = far
            self.left_out = ((1 - far) * self.top * (1 - far * far) ** self.n).upper()
        # In more than 16 dimensions: power series about multiples of `width`.
        self.radius = (4 / arb(d).sqrt()).min(arb(0.25)).mid()
        self.width = float(self.radius) / 8
        self.series: dict[int, tuple[arb, arb, Callable[[arb], arb], arb]] = {}

    @staticmethod
    def density_at_0(d: int) -> arb:
        """Return 1 / B(1/2, (d - 1)/2)."""
        return ((arb(d) / 2).lgamma() - (arb(d - 1) / 2).lgamma()).exp() / arb.pi().sqrt()

    def above(self, c: Ball, square: Ball | None = None) -> tuple[Ball, arb] | None:
        """Enclose Pr[cosine > c] as integrands do; `square` is 1 - c^2 where it is known better."""
        if isinstance(c, arb):
            return self.above_ball(c), arb(0)
        if c.real >= self.far:
            return acb(0), self.left_out
        if c.real <= -self.far:
            return acb(1), self.left_out
        square = 1 - c * c if square is None else square
        if square.real < 0 and (c.real > 0 or c.real < 0):
            return acb(0 if c.real > 0 else 1), arb(0)  # beyond 1 or -1 on the real line
        if not square.real > 0:
            return None
        # The mean value theorem, with the largest density on the box.
        largest = square.abs_upper() if self.d >= 3 else square.abs_lower()
        middle = c.real.mid()
        reach = within((c - middle).abs_upper() * self.top * largest**self.n)
        return acb(self.at(middle) + reach, reach), arb(0)

    def above_ball(self, c: arb) -> arb:
        """Enclose Pr[cosine > c] for all members of c."""
        low, high = c.lower(), c.upper()
        if low >= self.far:
            return up_to(self.left_out)
        if high <= -self.far:
            return 1 - up_to(self.left_out)
        if c.rad() < 1e-15 and low > -1 and high < 1:
            return self.near(c)
        return self.at(low).union(self.at(high))  # it falls with c

    def at(self, c: arb) -> arb:
        """Return Pr[cosine > c] for a number."""
        return arb(0) if c >= 1 else arb(1) if c <= -1 else self.near(c)

    def near(self, c: arb) -> arb:
        """Return Pr[cosine > c] on a very small ball between -1 and 1."""
        if self.d <= 16:  # uniform are the angle on a circle and the cosine on a sphere
            square, total = (1 - c) * (1 + c), arb(0)
            for term in reversed(self.terms):
                total = (total + term) * square
            if self.d % 2:
                return (1 - c) / 2 - c * total
            return c.acos() / arb.pi() - (c * total / square.sqrt() if self.terms else 0)
        place = round(float(c) / self.width)
        if place < 0:
            return 1 - self.near(-c)
        if place * self.width > 0.7:
            middle = c.mid()
            half = (1 - middle * middle).beta_lower(self.rest, arb(0.5), 1) / 2
            return half + within(c.rad() * self.top)
        if place not in self.series:
            self.series[place] = self.series_about(arb(place * self.width))
        centre, start, fall, missed = self.series[place]
        return start - fall(c - centre) + missed

    def series_about(self, c: arb) -> tuple[arb, arb, Callable[[arb], arb], arb]:
        """Return c, Pr[cosine > c], by how much it falls from c to c + h, |h| < R/15, and the
        error of that.

        By Cauchy the density has coefficients |a_j| <= M R^-j, with |1 - (c + h)^2| at most
        1 - c^2 + 2 c R + R^2 on the disc of radius R; those of j >= J miss M R 15^-J at most.
        """
        count = math.ceil(ctx.prec / math.log2(15)) + 3
        x = arb_series([c, 1], prec=count)
        fall = (((1 - x * x).log() * self.n).exp() * self.top).integral()
        start = arb(0.5) - (c * c).beta_lower(arb(0.5), self.rest, 1) / 2
        most = self.top * (1 - c * c + 2 * c * self.radius + self.radius**2) ** self.n
        missed = within(most * self.radius / arb(15) ** (count - 1))
        return c, start, arb_poly([fall[j] for j in range(count)]), missed


@lru_cache(maxsize=64)
def angle_of(d: int, precision: int) -> Angle:
    """Return the law in d dimensions, made once for each precision."""
    return Angle(d)


# --------------------------------------------------------------------------------- noise and laws


@dataclass(frozen=True, slots=True)
class Piece:
    """sign exp(height + slope u - rate t), t = m e^u, on shells from `start` to `stop` (None: no
    end). Densities of u and weights q/p are of this form."""

    height: arb
    slope: arb
    rate: arb
    ends: tuple[float, float] = (0.0, math.inf)  # `start` and `stop` as t, exactly
    start: arb | None = None
    stop: arb | None = None
    sign: int = 1

    def times(self, factor: arb) -> Piece:
        """Return the piece times a number other than 0."""
        sign = self.sign if factor > 0 else -self.sign
        return replace(self, height=self.height + abs(factor).log(), sign=sign)

    def covers(self, u: arb) -> bool:
        """Return whether a shell away from the ends of all pieces lies on this one."""
        return (self.start is None or u > self.start) and (self.stop is None or u < self.stop)


@dataclass(frozen=True)
class Noise:
    """P: |x|^(-2k) exp(-(|x|/s)^eta) in d dimensions, with E|x|^2 = sigma^2 d."""

    d: int
    sigma: float
    k: float
    eta: float

    def __post_init__(self) -> None:
        demand(type(self.d) is int and 2 <= self.d <= 2**53, "there is no noise in this dimension")
        demand(0 < self.sigma < math.inf and 0 < self.eta < math.inf, "sigma, eta must be positive")
        demand(0 <= 2 * self.k < self.d, "k must be from 0 to below d/2")

    @property
    def gaussian(self) -> bool:
        """Whether this is the normal law."""
        return self.k == 0 and self.eta == 2

    @property
    def shells(self) -> Shells:
        """P on its shells, made once for each precision."""
        return shells_of(self, ctx.prec)

    def law(self, pieces: Sequence[tuple[float, float, float, float, float]] | None) -> Law:
        """Return the law with the weight t^slope exp(log - rate t), but for a common factor.

        A piece (start, stop, log, slope, rate) is for start < t < stop; None is P itself.
        """
        law = Law(self, ((0.0, math.inf, 0.0, 0.0, 0.0),) if pieces is None else tuple(pieces))
        demand(0 < len(law.pieces) <= MOST_PIECES, "a law has too few or too many pieces")
        last = 0.0
        for start, stop, log, slope, rate in law.pieces:
            demand(last <= start < stop, "the pieces of a law must rise")
            demand(all(map(math.isfinite, (log, slope, rate))), "a piece of a law is not finite")
            last = stop
        if not law.is_noise:
            with proving():
                weights_of(law, ctx.prec)
        return law


@dataclass(frozen=True)
class Law:
    """A law by the pieces of its weight."""

    noise: Noise
    pieces: tuple[tuple[float, float, float, float, float], ...]

    @property
    def full_support(self) -> bool:
        """Whether its density is positive on almost all shells."""
        starts, stops = [p[0] for p in self.pieces], [p[1] for p in self.pieces]
        return [*starts, math.inf] == [0.0, *stops]

    @property
    def is_rescaled(self) -> bool:
        """Whether it is P in some size."""
        return len(self.pieces) == 1 and self.full_support and self.pieces[0][3] == 0

    @property
    def is_noise(self) -> bool:
        """Whether it is P."""
        return self.is_rescaled and self.pieces[0][4] == 0


class Shells:
    """P on shells u = ln(t/m): ln p(u) = m ln m - ln Gamma(m) + m u - t."""

    def __init__(self, noise: Noise) -> None:
        d, sigma, k, self.eta = map(exact, (noise.d, noise.sigma, noise.k, noise.eta))
        self.m, self.kappa, self.power = (d - 2 * k) / self.eta, 2 * k / self.eta, 2 / self.eta
        self.log_m = self.m.log()
        self.p = Piece(self.m * self.log_m - self.m.lgamma(), self.m, arb(1))
        # E t^(2/eta) = Gamma(m + 2/eta) / Gamma(m), which is m for eta = 2.
        mean = ((self.m + self.power).lgamma() - self.m.lgamma()).exp()
        self.scale = sigma * (d / 2 / (self.m if noise.eta == 2 else mean)).sqrt()
        self.angle = angle_of(noise.d, ctx.prec)

    def gamma(self, u: Ball) -> Ball:
        """Return t = m e^u."""
        return u.exp() * self.m

    def half_square(self, u: Ball) -> Ball:
        """Return h = t^(2/eta)."""
        return ((u + self.log_m) * self.power).exp()

    def shell_of(self, half_square: arb) -> arb:
        """Return the shell u of a half square h."""
        return half_square.log() / self.power - self.log_m

    def log(self, piece: Piece, u: Ball, t: Ball) -> Ball:
        """Enclose height + slope u - rate t; on wide balls by Taylor's theorem about the centre,
        where the second derivative is -rate t."""
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
        """Bound the mass of a piece, if it went on, beyond shell u: its logarithm is concave, and
        lies under its tangent at u."""
        t = self.gamma(u)
        fall = (density.rate * t - density.slope) * (1 if above else -1)
        if not (density.rate > 0 and fall > 0):
            return arb.pos_inf()
        return (self.log(density, u, t).exp() / fall).upper()

    def below(self, u: arb) -> arb:
        """Bound the mass of P within shell u; shifted P has no more there, because p falls."""
        return self.tail(self.p, u, False).min(arb(1))

    def above_shifted(self, u: arb, rho: arb) -> arb:
        """Bound the mass of P shifted by rho beyond shell u."""
        inner = (self.half_square(u) * 2).sqrt() - rho
        if not inner > 0:
            return arb(1)
        return self.tail(self.p, self.shell_of(inner * inner / 2), True).min(arb(1))

    def reach(self, density: Piece, depth: float) -> tuple[arb, arb, int]:
        """Return about the shells where a piece exceeds e^-depth, within its ends, and about its
        largest logarithm. `tail` bounds what lies outside: the choice proves nothing."""
        height, slope, rate = map(float, (density.height, density.slope, density.rate * self.m))
        start = -math.inf if density.start is None else float(density.start)
        stop = math.inf if density.stop is None else float(density.stop)

        def log(u: float) -> float:
            return height + slope * u - rate * math.exp(u)

        peak = min(max(math.log(slope / rate) if slope > 0 else start, start), stop)
        ends, wide = [], 0.5 / math.sqrt(max(slope, rate * math.exp(peak), 0.1))
        for side in (-1, 1):
            u, step = peak + side * wide, wide
            while start < u < stop and log(u) > -depth:
                u, step = u + side * step, 1.1 * step
            ends.append(arb(u))
        low = ends[0] if density.start is None or ends[0] > density.start else density.start
        high = ends[1] if density.stop is None or ends[1] < density.stop else density.stop
        return low, high, round(log(peak))

    def mass(self, density: Piece) -> arb:
        """Enclose the integral of a piece over its shells."""
        if density.start is None and density.stop is None:
            power = density.slope * (density.rate * self.m).log()
            return (density.height - power + density.slope.lgamma()).exp()
        top = self.reach(density, 0.0)[2]
        density = replace(density, height=density.height - top)
        low, high, _ = self.reach(density, 0.7 * ctx.prec + 20)

        def value(u: Ball) -> tuple[Ball, arb]:
            return self.log(density, u, self.gamma(u)).exp(), arb(0)

        total = integral(value, low, high, Budget(), sharp=2.0 ** (16 - ctx.prec))
        if low is not density.start:
            total += up_to(self.tail(density, low, False))
        if high is not density.stop:
            total += up_to(self.tail(density, high, True))
        return total * arb(top).exp()


@lru_cache(maxsize=64)
def shells_of(noise: Noise, precision: int) -> Shells:
    """Return P on its shells."""
    return Shells(noise)


@lru_cache(maxsize=256)
def weights_of(law: Law, precision: int) -> tuple[Piece, ...]:
    """Return the pieces of q/p, with the factor that makes the mass 1."""
    shells, weights = law.noise.shells, []
    if law.is_noise:
        return (Piece(arb(0), arb(0), arb(0)),)
    for *ends, log, slope, rate in law.pieces:
        start, stop = (exact(t).log() - shells.log_m if 0 < t < math.inf else None for t in ends)
        height, exponent = exact(log) + exact(slope) * shells.log_m, exact(slope)
        demand(rate > -1, "the rate of a piece must exceed -1, or a law has infinite mass")
        demand(start is not None or exponent + shells.m > 0, "a law has infinite mass near 0")
        weights.append(Piece(height, exponent, exact(rate), (ends[0], ends[1]), start, stop))
    total = sum((shells.mass(shells.density(weight)) for weight in weights), arb(0))
    demand(total > 0 and total.is_finite(), "a law has no mass, or none that can be told")
    return tuple(weight.times(1 / total) for weight in weights)


# ------------------------------------------------------------------------------------ the mixture


@dataclass(frozen=True)
class Mixture:
    """g = sum of l_i q_i, as pieces of g/p with their multipliers in them."""

    shells: Shells
    weights: tuple[Piece, ...]

    def intervals(self, low: arb, high: arb) -> Iterator[tuple[arb, arb, list[Piece]]]:
        """Yield what lies between low and high, cut where a piece begins or ends, and its terms."""
        edges = {t: u for w in self.weights for t, u in zip(w.ends, (w.start, w.stop)) if u}
        cuts = [u for _, u in sorted(edges.items()) if not (u <= low or u >= high)]
        for a, b in pairwise([low, *cuts, high]):
            middle = ((a + b) / 2).mid()
            demand(a < middle and middle < b, "two pieces cannot be told apart")
            yield a, b, [weight for weight in self.weights if weight.covers(middle)]

    def covered(self, rho: arb) -> tuple[arb, arb]:
        """Return shells beyond which neither P shifted by rho nor a negative term matters."""
        shells = self.shells
        low, high, _ = shells.reach(shells.p, DEPTH)
        norm = (shells.half_square(high) * 2).sqrt() + rho
        most, top = shells.shell_of(norm * norm / 2), low
        for weight in self.weights:
            start, stop, _ = shells.reach(shells.density(weight), DEPTH)
            if weight.sign < 0:
                low, most = min(low, start, key=float), max(most, stop, key=float)
            top = max(top, stop, key=float)
        aside = arb(2) ** -20  # so that ends of pieces lie inside
        return (low - aside).mid(), (min(most, top, key=float) + aside).mid()

    def beyond(self, u: arb, sign: int, above: bool) -> arb:
        """Bound the mass of |g| beyond shell u, over the terms of one sign."""
        total = arb(0)
        for weight in self.weights:
            end = weight.stop if above else weight.start
            outside = end is None or not (end <= u if above else end >= u)
            if weight.sign == sign and outside:
                total += self.shells.tail(self.shells.density(weight), u, above)
        return total.upper()


@dataclass(frozen=True, slots=True)
class Ratio:
    """G = g/p on shells, its slope in u, and where it is positive both of ln G."""

    value: Ball
    slope: Ball
    log: Ball | None
    log_slope: Ball | None


def ratio(shells: Shells, terms: Sequence[Piece], u: Ball, t: Ball) -> Ratio:
    """Enclose G on the members of u."""
    value, slope = u * 0, u * 0
    for term in terms:
        log, log_slope = shells.log(term, u, t), term.slope - t * term.rate
        weight = log.exp() * term.sign
        if len(terms) == 1 and term.sign > 0:
            return Ratio(weight, weight * log_slope, log, log_slope)
        value += weight
        slope += weight * log_slope
    if not value.real > 0:
        return Ratio(value, slope, None, None)
    return Ratio(value, slope, value.log(), slope / value)


def crossing(shells: Shells, u: Ball, t: Ball, log_ratio: Ball | None) -> tuple[Ball, Ball] | None:
    """Enclose the curve v = V(u) on which g(x) = p(y), as e = V - u and t e^e; None where it is not
    shown to be there. In logarithms g(x) = p(y) is F(e) := t expm1(e) + kappa e = -ln G.

    For any e0 let miss = -ln G - F(e0). Follow F(e) from F(e0) along the segment of this length: e
    moves with the speed |miss| / |T + kappa|, T = t e^e. If |T + kappa| >= L and Re T > 0 within
    some distance of e0, and |miss| / L is no more, the segment is followed to its end. There the
    solution is unique, since T + kappa ln T has a derivative of positive real part for Re T > 0
    (Noshiro and Warschawski), so that it is one analytic function of u.
    """
    if log_ratio is None:
        return None
    kappa, middle_t, middle_log = shells.kappa, t.real.mid(), log_ratio.real.mid()
    if not (middle_t > 1e-300 and middle_log.is_finite()):
        return None
    rough = rough_crossing(float(middle_t), float(kappa), float(middle_log))
    if not math.isfinite(rough):
        return None
    e = arb(rough)
    miss = middle_t * e.expm1() + kappa * e + middle_log
    e = (e - miss / (middle_t * e.exp() + kappa)).mid()  # Newton, for the digits floats lack
    moved = t * e.exp()
    distance = (log_ratio + t * e.expm1() + kappa * e).abs_upper()
    room = 2 * distance / (moved + kappa).abs_lower()
    if not room.is_finite():
        return None
    everywhere = moved * around(u * 0, room).exp()
    speed = (everywhere + kappa).abs_lower()
    if not (everywhere.real > 0 and distance <= room * speed):
        return None
    offset = around(u * 0, distance / speed)
    return offset + e, moved * offset.exp()


def around(zero: Ball, radius: arb) -> Ball:
    """Return all numbers, real or complex as `zero` is, up to `radius` in size."""
    reach = within(radius)
    return reach if isinstance(zero, arb) else acb(reach, reach)


def rough_crossing(t: float, kappa: float, log_ratio: float) -> float:
    """Return about e, in floats; -inf where all of the shell is beyond the curve."""
    target = -log_ratio
    if kappa == 0:
        return math.log1p(target / t) if target > -t else -math.inf
    # F is convex and rises: Newton's method descends from the right of the root.
    e = target / (t + kappa)
    if target > 0:
        e = min(e, math.log1p(target / t))
    for _ in range(60):
        step = (t * math.expm1(e) + kappa * e - target) / (t * math.exp(e) + kappa)
        e -= step
        if abs(step) <= 1e-15 * abs(e):
            break
    return e


# ------------------------------------------------------------------------------------ the overlap


@dataclass
class Overlap:
    """The integral of min(g(x), p(x - delta)) over shells u of x.

    Let R be where g(x) > p(x - delta), which is v > V(u). The integral is that of g outside R plus
    P(y in R). On shell u, x lies outside R if its cosine with delta exceeds
    (climb + rho/2) / sqrt(2 h(u)), climb = (h(u) - h(V)) / rho. With C(v, u) = Pr[x within shell u |
    y on shell v] = Pr[cosine of y < ((h(u) - h(v)) / rho - rho/2) / sqrt(2 h(v))], Green's theorem
    makes P(y in R) the integral of p(v) C(v, u) dv along the curve, from v = inf before the first
    shell to v = inf after the last one, and along lines u = const where V jumps. A panel of shells is

    analytic: the curve is there; its part is the integral of g outside R plus p(V) C(V, u) V';
    plain: R is so small that min(g, p) is g but for a little (as for g <= 0); there V = inf;
    swallowed: nearly all is in R, and min(g, p) is p(x - delta) but for a little; there V = -inf.
    """

    mixture: Mixture
    rho: arb
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        self.shells, self.terms = self.mixture.shells, list[Piece]()
        self.band = self.shells.reach(self.shells.p, DEPTH)[:2]

    def value(self) -> arb:
        """Enclose the integral; and what the shells outside `covered` may add."""
        shells, total = self.shells, arb(0)
        low, high = self.mixture.covered(self.rho)
        state: tuple[list[Piece], str] = [], "plain"  # terms and name of the panel before
        for a, b, self.terms in self.mixture.intervals(low, high):
            for start, _, name, part in panels(
                self.along_curve, a, b, self.budget, self.settle, SHARP
            ):
                total += part
                if state != (self.terms, name):
                    total += self.line(
                        start, self.height(*state, start), self.height(self.terms, name, start)
                    )
                    state = self.terms, name
        total += self.line(high, self.height(*state, high), arb.pos_inf())
        # Outside, min(g, p) is between the negative part of g and either.
        more = self.mixture.beyond(low, 1, False).min(shells.below(low))
        more += self.mixture.beyond(high, 1, True).min(shells.above_shifted(high, self.rho))
        less = self.mixture.beyond(low, -1, False) + self.mixture.beyond(high, -1, True)
        return total + up_to(more) - up_to(less)

    def along_curve(self, u: Ball) -> tuple[Ball, arb] | None:
        """Return g outside R, plus p(V) C(V, u) V'."""
        shells, rho, t = self.shells, self.rho, self.shells.gamma(u)
        found = ratio(shells, self.terms, u, t)
        curve = crossing(shells, u, t, found.log)
        if curve is None:
            return None
        e, arrived = curve
        h, grown = shells.half_square(u), (e * shells.power).expm1()
        climb, moved = -(h * grown) / rho, h + h * grown
        if not (h.real > 0 and moved.real > 0):
            return None
        outside = shells.angle.above((climb + rho / 2) / (h * 2).sqrt())
        inside = shells.angle.above((rho / 2 - climb) / (moved * 2).sqrt())
        if outside is None or inside is None:
            return None
        density = (shells.log(shells.p, u, t) + found.log).exp()
        speed = (t + shells.kappa - found.log_slope) / (arrived + shells.kappa)
        arriving = shells.log(shells.p, u + e, arrived).exp() * speed
        missing = density.abs_upper() * outside[1] + arriving.abs_upper() * inside[1]
        return density * outside[0] + arriving * inside[0], missing

    def settle(self, a: arb, b: arb) -> tuple[str, arb | None]:
        """Name a panel where the curve is not seen to be smooth, and give its part if it can."""
        shells, panel, length = self.shells, a.union(b), (b - a).upper()
        c, t = panel.mid(), shells.gamma(panel)
        found, middle = ratio(shells, self.terms, panel, t), shells.gamma(c)
        close = ratio(shells, self.terms, c, middle).value + found.slope * (panel - c)
        most = found.value.upper().min(close.upper())
        least = found.value.lower().max(close.lower())
        missing = arb(0)
        if not most <= 0:
            missing = shells.log(shells.p, panel, t).exp().upper() * most * length
            if most < 1 and not missing < SHARP:
                missing *= self.share_of_r(panel, t, most)
        if missing < SHARP:
            return "plain", self.integral_of_g(a, b) - up_to(missing)
        if least > 0:
            missing = self.below_curve(panel, t, least.log())
            if missing < SHARP:
                return "swallowed", -up_to(missing)
        return "", None

    def integral_of_g(self, a: arb, b: arb) -> arb:
        """Enclose the integral of g on a panel."""
        shells, terms = self.shells, self.terms

        def g(u: Ball) -> tuple[Ball, arb]:
            t = shells.gamma(u)
            return shells.log(shells.p, u, t).exp() * ratio(shells, terms, u, t).value, arb(0)

        return integral(g, a, b, self.budget)

    def share_of_r(self, panel: arb, t: arb, most: arb) -> arb:
        """Bound the share of R on each of these shells, if G <= most < 1."""
        shells, target, top = self.shells, -most.log(), t.upper()
        e = arb(rough_crossing(float(top), float(shells.kappa), -float(target)) * (1 - 1e-9))
        if not (e > 0 and top * e.expm1() + shells.kappa * e <= target):
            return arb(1)
        h = shells.half_square(panel)
        climb = -(h.lower() * (shells.power * e).expm1()) / self.rho
        return shells.angle.above_ball(-(climb + self.rho / 2) / (h * 2).sqrt()).upper()

    def below_curve(self, panel: arb, t: arb, log_least: arb) -> arb:
        """Bound P(v < V) for the curve over these shells, if ln G >= log_least."""
        shells, curve = self.shells, crossing(self.shells, panel, t, log_least)
        if curve is not None:
            return shells.below((panel + curve[0]).upper())
        if not shells.kappa.is_zero():
            return arb(1)
        rest = (t - log_least).upper()
        return shells.below((rest / shells.m).log()) if rest > 0 else arb(0)

    def height(self, terms: list[Piece], name: str, u: arb) -> arb:
        """Return V at an end of a panel."""
        if name != "analytic":
            return arb.pos_inf() if name == "plain" else arb.neg_inf()
        t = self.shells.gamma(u)
        curve = crossing(self.shells, u, t, ratio(self.shells, terms, u, t).log)
        demand(curve is not None, "the end of a curve cannot be enclosed")
        return u + curve[0]

    def line(self, u: arb, before: arb, after: arb) -> arb:
        """Enclose the integral of p(v) C(v, u) over v from `before` to `after`."""
        shells, rho = self.shells, self.rho
        if shells.below(u) < SHARP:  # all of the line is at most P(x within shell u)
            return within(shells.below(u))
        low, high, _ = shells.reach(shells.p, DEPTH)
        start, stop = (v.max(low).min(high) for v in (before, after))
        h = shells.half_square(u)
        norm = (h * 2).sqrt()

        def along(v: Ball) -> tuple[Ball, arb] | None:
            other_h = shells.half_square(v)
            if not other_h.real > 0:
                return None
            # 1 - c^2 in factors: where u is near the centre, c is near 1 on a whole range of v.
            other = (other_h * 2).sqrt()
            square = (norm - other + rho) * (norm + other - rho) * (other + rho - norm)
            square = square * (other + rho + norm) / (other * rho * 2) ** 2
            share = shells.angle.above(((other_h - h) / rho + rho / 2) / other, square)
            if share is None:
                return None
            density = shells.log(shells.p, v, shells.gamma(v)).exp()
            return density * share[0], density.abs_upper() * share[1]

        left_out = within(shells.below(low) + shells.tail(shells.p, high, True))
        if float(start) == float(stop):
            return left_out + within((stop - start) * (shells.p.height - shells.m).exp())
        if float(start) < float(stop):
            return left_out + integral(along, start, stop, self.budget)
        return left_out - integral(along, stop, start, self.budget)


# --------------------------------------------------------------------------------- shorter shifts


def rise(mixture: Mixture, rho: arb) -> arb | None:
    """Bound the share by which the positive part of g rises with |x| in all, where that is no more
    than rounding; None where it rises by more, or is not shown not to.

    The density of g at x is p(u) G(u) e^(-d u / eta), up to a factor; its slope in u has the sign of
    S = G' - (kappa + t) G.
    """
    shells, total, before = mixture.shells, arb(0), None
    for a, b, terms in mixture.intervals(*mixture.covered(rho)):
        after, end = (ratio(shells, terms, u, shells.gamma(u)).value for u in (a, b))
        if before is not None and not after <= 0:
            if not (before > 0 and after > 0):
                return None
            total += (after / before - 1).upper().max(arb(0))
        inside = rise_between(shells, terms, a, b)
        if inside is None:
            return None
        total, before = total + inside, end
    return (total * (1 + total)).upper() if total < LARGEST_RISE else None


def rise_between(shells: Shells, terms: list[Piece], low: arb, high: arb) -> arb | None:
    """Bound the rise of the positive part of g where its terms do not change."""
    if all(term.sign > 0 for term in terms):  # a sum rises by no larger a share than its terms
        most = max((rise_of(shells, term, low, high) for term in terms), key=float, default=arb(0))
        if most < LARGEST_RISE:
            return most
    waiting, cells = [(low, high)], 4000
    while waiting:
        a, b = waiting.pop()
        c, panel, cells = ((a + b) / 2).mid(), a.union(b), cells - 1
        t, away = shells.gamma(panel), panel - c
        value, slope, bend = slopes(shells, terms, panel, t)
        middle, middle_slope, _ = slopes(shells, terms, c, shells.gamma(c))
        if (
            slope <= 0
            or value <= 0
            or middle_slope + bend * away <= 0
            or middle + (slope + (shells.kappa + t) * value) * away <= 0
        ):
            continue  # g falls, or has no positive part
        if (middle > 0 and middle_slope > 0) or cells == 0 or not (a < c and c < b):
            return None
        waiting += [(a, c), (c, b)]
    return arb(0)


def rise_of(shells: Shells, term: Piece, low: arb, high: arb) -> arb:
    """Bound the share by which a term rises: only where slope > kappa + (1 + rate) t, and t grows;
    at most at the rate of the start, and until t has grown by it."""
    pull = (term.rate + 1) * shells.gamma(low)
    lead = term.slope - shells.kappa - pull
    if lead <= 0:
        return arb(0)
    growth = (lead * (high - low).min((lead / pull).log1p())).upper().expm1()
    return growth if growth.is_finite() else arb.pos_inf()


def slopes(shells: Shells, terms: list[Piece], u: arb, t: arb) -> tuple[arb, arb, arb]:
    """Return G, S and S'."""
    value, slope, bend = arb(0), arb(0), arb(0)
    for term in terms:
        weight, lead = shells.log(term, u, t).exp() * term.sign, term.slope - term.rate * t
        fall = lead - shells.kappa - t
        value, slope = value + weight, slope + weight * fall
        bend += weight * (lead * fall - (term.rate + 1) * t)
    return value, slope, bend


def total_variation(shells: Shells, shift: Fraction) -> arb:
    """Enclose the total variation between P and P shifted, Pr[|x_1| < shift/2]: the most that a
    probability changes by, at this distance or nearer."""
    half = exact(shift) / shells.scale / 2

    def band(u: Ball) -> tuple[Ball, arb] | None:
        h = shells.half_square(u)
        share = shells.angle.above(half / (h * 2).sqrt()) if h.real > 0 else None
        if share is None:
            return None
        density = shells.log(shells.p, u, shells.gamma(u)).exp()
        return density * (1 - share[0] * 2), density.abs_upper() * share[1] * 2

    low, high, _ = shells.reach(shells.p, DEPTH)
    outside = shells.below(low) + shells.tail(shells.p, high, True)
    return integral(band, low, high, Budget()) + up_to(outside)


# ----------------------------------------------------------------------------- what the file calls


def gaussian_overlap(multiplier: float, ratio: arb) -> arb:
    """Enclose the integral of min(l p(x), p(x - delta)) for the normal law, ratio = |delta|/sigma:
    LR = exp(ratio x_1 - ratio^2/2) < l is x_1 < z."""
    z = exact(multiplier).log() / ratio + ratio / 2
    root = arb(2).sqrt()
    return (exact(multiplier) * (z / root).erfc() + ((ratio - z) / root).erfc()) / 2


def overlap_of(
    noise: Noise, terms: Sequence[tuple[float, Law]], shift: float
) -> tuple[arb, Mixture | None]:
    """Enclose the integral of min(g, p(x - delta)), g = sum of l q for multipliers l other than 0;
    and give g, unless it is l p > 0 for the normal law."""
    if noise.gaussian and len(terms) == 1 and terms[0][0] > 0 and terms[0][1].is_noise:
        return gaussian_overlap(terms[0][0], exact(shift) / exact(noise.sigma)), None
    weights = [w.times(exact(l)) for l, law in terms for w in weights_of(law, ctx.prec)]
    mixture = Mixture(noise.shells, tuple(weights))
    return Overlap(mixture, exact(shift) / noise.shells.scale).value(), mixture


def event_bound(
    noise: Noise,
    bounds: Sequence[tuple[Law, str, float]],
    steps: Sequence[tuple[float, Sequence[float]]],
    reach: Fraction,
    level: float,
) -> arb:
    """Return a lower bound of the probability of an event at every shift of length <= reach.

    Let g rise by a factor 1 + rise at most. Its running minimum falls with |x|, as p does; so the
    overlap of the two falls with the shift, and shorter shifts keep B but for `rise` and, as
    nothing is known of g there, for P's mass of the innermost shells. Else they keep B but for the
    total variation down to the next step.

    Args:
        noise: P.
        bounds: what is known of the event: a law, "lower" or "upper", and a value.
        steps: shifts, falling, with a multiplier for each bound.
        reach: the longest shift that matters.
        level: what a step must exceed. At 0 the first must cover all shorter shifts.
    """
    shifts = [shift for shift, _ in steps]
    demand(bool(steps) and all(0 < shift < math.inf for shift in shifts), "there are no shifts")
    demand(Fraction(shifts[0]) >= reach, "the steps do not reach the radius")
    demand(all(a > b for a, b in pairwise(shifts)), "the shifts of the steps must fall")
    least = arb(1)
    for (shift, multipliers), below in zip(steps, [*shifts[1:], 0.0], strict=True):
        demand(len(multipliers) == len(bounds) and any(multipliers), "a bound lacks a multiplier")
        with proving(multipliers):
            terms, value = [], arb(0)
            for l, (law, side, known) in zip(multipliers, bounds, strict=True):
                demand(law.noise == noise and 0 <= known <= 1, "there is no such bound")
                demand(
                    l == 0 or side == ("lower" if l > 0 else "upper"),
                    "a multiplier has the wrong sign",
                )
                value -= exact(l) * (1 - exact(known))
                terms += [(l, law)] if l else []
            common, mixture = overlap_of(noise, terms, shift)
            value += common
            demand(not value > 1, f"at {shift!r}: no event has these probabilities")
            demand(value > level, f"at {shift!r}: B is only known to be {value}")
            lost: arb | None = arb(0)
            if mixture is not None:
                rho = exact(shift) / noise.shells.scale
                lost = rise(mixture, rho)
                if lost is not None:
                    lost += noise.shells.below(mixture.covered(rho)[0])
            if lost is not None and value - lost > level:
                return least.min((value - lost).lower())
            demand(level > 0, f"at {shift!r}: it is not shown to hold for shorter shifts")
            value -= total_variation(noise.shells, Fraction(shift) - Fraction(below))
            demand(value > level, f"at {shift!r}: down to {below!r} B is only known to be {value}")
            least = least.min(value.lower())
    return least


def overlap(noise: Noise, multiplier: float, shift: float) -> arb:
    """Enclose the integral of min(l p(x), p(x - delta)) dx for a multiplier l > 0."""
    demand(
        0 < multiplier < LARGEST_MULTIPLIER and 0 <= shift < math.inf, "there is no such overlap"
    )
    if shift == 0:
        with proving():
            return exact(min(multiplier, 1.0))
    with proving([multiplier]):
        return overlap_of(noise, [(multiplier, noise.law(None))], shift)[0]


def charge(noise: Noise, law: Law, step: float) -> arb:
    """Return what probabilities under a law must be charged for double precision on a grid, less 1%:
    e 2^-53 (4 d + 2 sqrt(d) E|y| / step).

    e was measured. In two dimensions the density must fall with the norm, or be P's. The normal law
    has E|y| >= sigma sqrt(d - 1/2): with E_d = E|y| / sigma, E_(d+2) = E_d (d+1)/d, so that
    E_d^2 / (d - 1/2), which tends to 1, falls by the factor 1 - 1/(2 d^2 (d + 3/2)) from d to d + 2.
    """
    demand(0 < step < math.inf and law.noise == noise, "there is no such grid")
    with proving():
        shells, d, weights = noise.shells, exact(noise.d), weights_of(law, ctx.prec)
        error, mean = 56 + 16 / shells.m, arb(0)
        if noise.gaussian and law.is_rescaled:
            error, mean = arb(16), exact(noise.sigma) * (d - exact(0.5)).sqrt()
            mean /= (1 + exact(law.pieces[0][4])).sqrt()
        else:
            if noise.d == 2 and not law.is_rescaled:
                falls = rise(Mixture(shells, weights), arb(0)) is not None
                demand(falls, "in two dimensions the density of a law must fall on a grid")
            for weight in weights:  # |y| / s = t^(1/eta)
                density, power = shells.density(weight), shells.power / 2
                height = density.height + power * shells.log_m
                mean += shells.mass(replace(density, height=height, slope=density.slope + power))
            mean *= shells.scale * arb(2).sqrt()
        amount = error * (4 * d + 2 * d.sqrt() * mean / exact(step)) / arb(2) ** 53
        return (amount * 99 / 100).min(arb(1)).lower()


def binomial_tail(hits: int, n: int, p: arb) -> arb:
    """Enclose Pr[X >= hits] for X ~ Binomial(n, p): the distribution function at p of
    Beta(hits, n - hits + 1)."""
    if hits <= 0 or hits > n:
        return arb(1 if hits <= 0 else 0)
    with proving():
        if not (p > 0 and p < 1):
            return arb(0) if p <= 0 else arb(1) if p >= 1 else up_to(arb(1))
        a, b, logit = arb(hits), arb(n - hits + 1), (p / (1 - p)).log()
        if p.mid() * (n + 1) <= a:
            return beta_below(a, b, logit)
        return 1 - beta_below(b, a, -logit)


def beta_below(a: arb, b: arb, end: arb) -> arb:
    """Enclose Pr[v < end] for the logit v of a Beta(a, b) variable, `end` not beyond the mean. Its
    log-density a v - (a + b) log(1 + e^v) - ln B(a, b) is concave: beyond `low` it lies under its
    tangent."""
    both, constant = a + b, (a + b).lgamma() - a.lgamma() - b.lgamma()

    def log(v: arb) -> arb:
        return a * v - both * v.exp().log1p() + constant

    def density(v: Ball) -> tuple[Ball, arb]:
        c = v.real.mid()
        share, middle, away = 1 / (1 + (-v).exp()), 1 / (1 + (-c).exp()), v - c
        bend = both * share * (1 - share) * away * away / 2
        return (log(c) + away * (a - both * middle) - bend).exp(), arb(0)

    low = end.mid()
    deep = log(low) - 60
    step = 1 / (both / (1 + low.exp()) / (1 + (-low).exp())).sqrt()
    while not log(low) < deep:
        low, step = (low - step).mid(), step * 1.2
    fall = a - both / (1 + (-low).exp())
    left_out = log(low).exp() / fall if fall > 0 else arb.pos_inf()
    top = log(end.mid()).exp().upper()
    return integral(density, low, end, Budget(), SHARP * float(top)) + up_to(left_out)


def staged_tail(first: int, hits: int, n: int, p: arb) -> arb:
    """Enclose p^first Pr[Binomial(n, p) >= hits]: `first` votes before the others, all hits."""
    tail = binomial_tail(hits, n, p)
    with proving():
        return p**first * tail
