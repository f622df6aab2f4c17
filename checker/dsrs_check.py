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
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Protocol, TypeVar

try:
    from flint import acb, arb, arb_poly, arb_series, ctx
except ImportError:  # what needs it says so
    ctx = None  # type: ignore[assignment]

BITS = 100  # of every number: what is left where exponents of 1e5 cancel
LARGEST_MULTIPLIER = 1e200
EVALUATIONS = 400_000  # of integrands, for one step of a proof
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
    """Compute with BITS, and as many more as large multipliers take away. Whatever goes wrong inside,
    nothing is proved."""
    demand(ctx is not None, "this needs python-flint: pip install python-flint")
    demand(all(abs(x) < LARGEST_MULTIPLIER for x in multipliers), "a multiplier is too large")
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
    return arb(value.numerator) / value.denominator if isinstance(value, Fraction) else arb(value)


def within(radius: arb) -> arb:
    """Return a ball around 0 that holds everything up to `radius` in size."""
    return arb(0, radius.abs_upper())


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
    """A real function f that is analytic nearly everywhere: its values on all members of u. On a
    box they are those of a function that is analytic there, and the second ball bounds by how much
    f differs from it on the real line. None: no such function is seen."""

    def __call__(self, u: Ball, /) -> tuple[Ball, arb] | None: ...


# Names a panel on which f is not seen to be analytic, and gives its integral if it can.
Settle = Callable[["arb", "arb"], "tuple[str, arb | None]"]


def panels(
    f: Integrand, low: arb, high: arb, budget: Budget, settle: Settle | None, sharp: float
) -> Iterator[tuple[arb, str, arb]]:
    """Yield panels from left to right: the left end, a name, and the integral of f. They are halved
    until a Gauss rule, `settle`, or length times range is sharp."""
    waiting = [(low, high)]
    while waiting:
        a, b = waiting.pop()
        name, part = "analytic", gauss(f, a, b, budget, sharp)
        if part is None and settle is not None:
            name, part = settle(a, b)
        if part is None:
            budget.spend(1)
            values = f(a.union(b))
            ranging = arb.nan() if values is None else values[0] * (b - a)
            if ranging.is_finite() and ranging.rad() < sharp:
                name, part = "analytic", ranging
        if part is not None:
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

    Let f be analytic on the ellipse around [-1, 1] with half axes (z + 1/z)/2 and (z - 1/z)/2, and
    |f| <= M there. Its Chebyshev coefficients are at most 2 M z^-j. The rule with n >= 2 nodes is
    exact to degree 2n - 1; odd terms integrate to 0; the integral of T_j is at most 2/(j^2 - 1),
    and the rule gives at most 2 for it, since its weights are positive with the sum 2. So it misses
    at most the sum over even j >= 2n of 2 M z^-j (2 + 2/15), which is (64/15) M z^-2n / (1 - z^-2).
    Here z = 3, and the ellipse is put into a box.
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
        # By parts: Pr[cosine > c] falls by top c (1 - c^2)^n / (2n + 1) from d - 2 to d dimensions.
        tops = [
            (e, (arb(e) / 2).gamma() / (arb(e - 1) / 2).gamma()) for e in range(4 + d % 2, 17, 2)
        ]
        self.terms = [top / arb.pi().sqrt() / (e - 2) for e, top in tops if e <= d]
        self.top = ((arb(d) / 2).lgamma() - self.rest.lgamma()).exp() / arb.pi().sqrt()
        # Beyond `far` the density falls: Pr[cosine > far] is at most its length times its height.
        far = (1 - (arb(2) ** -(ctx.prec + 33)) ** (1 / self.rest)).sqrt().mid()
        self.far, self.left_out = arb(1), arb(0)
        if far < 0.999:
            self.far, self.left_out = far, (1 - far) * self.top * (1 - far * far) ** self.n
        # In more than 16 dimensions: power series about multiples of `width`.
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
            return self.near(c) if small else self.at(low).union(self.at(high)), arb(0)
        square = 1 - c * c if square is None else square
        if square.real < 0 and (low > 0 or high < 0):
            return acb(0 if low > 0 else 1), arb(0)  # beyond 1 or -1 on the real line
        if not square.real > 0:
            return None
        # The mean value theorem, with the largest density on the box.
        largest = square.abs_upper() if self.d >= 3 else square.abs_lower()
        middle = c.real.mid()
        reach = within((c - middle).abs_upper() * self.top * largest**self.n)
        return acb(self.at(middle) + reach, reach), arb(0)

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
            share = (1 - c.mid() ** 2).beta_lower(self.rest, arb(0.5), 1) / 2
            return share + within(c.rad() * self.top)
        if place not in self.series:
            self.series[place] = self.series_about(arb(place * self.width))
        centre, share, fall = self.series[place]
        return share - fall(c - centre)

    def series_about(self, c: arb) -> tuple[arb, arb, arb_poly]:
        """Return c, Pr[cosine > c], and by how much it falls from c to c + h for |h| < R/15.

        By Cauchy the density has coefficients |a_j| <= M R^-j, with |1 - (c + h)^2| at most
        1 - c^2 + 2 c R + R^2 on the disc of radius R; those of j >= J miss M R 15^-J at most.
        """
        count = math.ceil(ctx.prec / math.log2(15)) + 3
        x = arb_series([c, 1], prec=count)
        fall = (((1 - x * x).log() * self.n).exp() * self.top).integral()
        share = arb(0.5) - (c * c).beta_lower(arb(0.5), self.rest, 1) / 2
        most = self.top * (1 - c * c + 2 * c * self.radius + self.radius**2) ** self.n
        missed = within(most * self.radius / arb(15) ** (count - 1))
        return c, share + missed, arb_poly([fall[j] for j in range(count)])


# --------------------------------------------------------------------------------- noise and laws


@dataclass(frozen=True, slots=True)
class Piece:
    """sign exp(height + slope u - rate t), t = m e^u, on shells from `start` to `stop`, which are
    exactly `ends` as t. Densities of u and weights q/p have this form."""

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
        given = ((0.0, math.inf, 0.0, 0.0, 0.0),) if pieces is None else tuple(pieces)
        demand(0 < len(given) <= MOST_PIECES, "a law has too few or too many pieces")
        for (_, last, *_), (start, stop, *numbers) in zip(
            [(0.0, 0.0), *given], given, strict=False
        ):
            demand(last <= start < stop, "the pieces of a law must rise")
            demand(all(map(math.isfinite, numbers)), "a piece of a law is not finite")
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
    pieces: tuple[tuple[float, float, float, float, float], ...]
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
        shown = density.rate > 0 and fall > 0
        return (self.log(density, u, t).exp() / fall).upper() if shown else arb.pos_inf()

    def below(self, u: arb) -> arb:
        """Bound the mass of P within shell u; shifted P has no more there, because p falls."""
        return self.tail(self.p, u, False).min(arb(1))

    def reach(self, density: Piece, depth: float) -> tuple[arb, arb, int]:
        """Return about the shells where a piece exceeds e^-depth, within its ends, and about its
        largest logarithm. `tail` bounds what lies outside: the choice proves nothing."""
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
        if not (density.start.is_finite() or density.stop.is_finite()):
            power = density.slope * (density.rate * self.m).log()
            return (density.height - power + density.slope.lgamma()).exp()
        top = self.reach(density, 0.0)[2]
        density = replace(density, height=density.height - top)
        low, high, _ = self.reach(density, 0.7 * ctx.prec + 20)

        def value(u: Ball) -> tuple[Ball, arb]:
            return self.log(density, u, self.gamma(u)).exp(), arb(0)

        total = integral(value, low, high, Budget(), 2.0 ** (16 - ctx.prec))
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
    demand(total > 0 and total.is_finite(), "a law has no mass, or none that can be told")
    return tuple(replace(w, height=w.height - total.log()) for w in weights)


# ------------------------------------------------------------------------------------ the mixture


class Mixture:
    """g = sum of l_i q_i beside P shifted by rho, and the integral of min(g(x), p(x - delta)).

    Let R be where g(x) > p(x - delta), which is v > V(u). The integral is that of g outside R plus
    P(y in R). On shell u, x is outside R if its cosine with delta exceeds (climb + rho/2) / sqrt(2
    h(u)), climb = (h(u) - h(V)) / rho. With C(v, u) = Pr[x within shell u | y on shell v], which is
    Pr[cosine of y < ((h(u) - h(v)) / rho - rho/2) / sqrt(2 h(v))], Green's theorem makes P(y in R)
    the integral of p(v) C(v, u) dv along the curve, from v = inf before the first shell to v = inf
    after the last, and along lines u = const where V jumps. A panel of shells is

    analytic: the curve is there; its part is the integral of g outside R plus p(V) C(V, u) V';
    plain: R is so small that min(g, p) is g but for a little (as for g <= 0); there V = inf;
    swallowed: nearly all is in R, and min(g, p) is p(x - delta) but for a little; there V = -inf.
    """

    def __init__(self, noise: Noise, mixed: Sequence[tuple[float, Law]], shift: Fraction) -> None:
        self.shells, self.budget, self.terms = noise.shells, Budget(), list[Piece]()
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
            if weight.sign < 0:
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
        """Enclose G = g/p on the members of u, and G'; and ln G where it is shown to be positive."""
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
            square = (
                (norm - own + rho) * (norm + own - rho) * (own + rho - norm) * (own + rho + norm)
            )
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
        """Bound the share by which the positive part of g rises with |x| in all, where that is no
        more than rounding; None where it rises by more, or is not shown not to.

        As the density of g at x is p(u) G(u) e^(-d u / eta), up to a factor, its slope in u has the
        sign of S = G' - (kappa + t) G. Where all terms are positive, S / G is at most the largest
        one of a term.
        """
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
                if little < LARGEST_RISE / 1000 and all(term.sign > 0 for term in terms):
                    total += little.max(arb(0))
                    continue
                if (middle > 0 and middle_slope > LARGEST_RISE * middle) or cells < 0:
                    return None
                demand(a < c and c < b, "it is not known whether a law falls")
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

    For any e0 let miss = -ln G - F(e0). Follow F(e) from F(e0) along the segment of this length: e
    moves with the speed |miss| / |T + kappa|, T = t e^e. If |T + kappa| >= L and Re T > 0 within
    some distance of e0, and |miss| / L is no more, the segment is followed to its end. There the
    solution is unique, since T + kappa ln T has a derivative of positive real part for Re T > 0
    (Noshiro and Warschawski), so that it is one analytic function of u.
    """
    kappa, c, goal = shells.kappa, t.real.mid(), log_ratio.real.mid()
    if not (c > 1e-300 and goal.is_finite()):
        return None
    rough = rough_crossing(float(c), float(kappa), -float(goal))
    if not math.isfinite(rough):
        return None
    e = arb(rough)
    e = (e - (c * e.expm1() + kappa * e + goal) / (c * e.exp() + kappa)).mid()  # Newton, for digits
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
    """Return about the root of F(e) = goal, in floats; -inf where there is none."""
    if kappa == 0:
        return math.log1p(goal / t) if goal > -t else -math.inf
    e = goal / (t + kappa)
    e = min(e, math.log1p(goal / t)) if goal > 0 else e
    for _ in range(60):  # F is convex and rises: Newton's method descends from the right
        step = (t * math.expm1(e) + kappa * e - goal) / (t * math.exp(e) + kappa)
        e -= step
        if abs(step) <= 1e-15 * abs(e):
            break
    return e


# ----------------------------------------------------------------------------- what the file calls


def least_overlap(noise: Noise, multiplier: float, shift: Fraction) -> arb:
    """Return a ball whose lower end the integral of min(l p(x), p(x - delta)) has at least. For the
    normal law it is exact: p(x - delta) / p(x) = exp(ratio x_1 - ratio^2/2) < l is x_1 < z."""
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
    """Return a lower bound of the probability of an event at every shift of length <= reach.

    Of the event bounds (law, "lower" or "upper", value) are known; steps (shift, a multiplier for
    each bound) go down from `reach`. What a step gives must exceed `level`. A step covers

    - all shorter shifts, where g_+ rises with |x| by a factor 1 + rise at most: its running minimum
      falls, as p does, so that their overlap falls with the shift. B loses `rise` and, as nothing
      is known of g there, P's mass of the innermost shells;
    - else the shifts down to the next step, and B loses the total variation between P and P shifted
      by the gap, 1 less the integral of the minimum of both. At level 0 that is not accepted.
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
                demand(law.noise == noise and 0 <= known <= 1, "there is no such bound")
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


def overlap(noise: Noise, multiplier: float, shift: float) -> arb:
    """Return a lower bound of the integral of min(l p(x), p(x - delta)) for a multiplier l > 0."""
    demand(multiplier > 0 and 0 <= shift < math.inf, "there is no such overlap")
    with proving([multiplier]):
        if shift == 0:
            return exact(min(multiplier, 1.0))
        return least_overlap(noise, multiplier, Fraction(shift)).lower()


def charge(noise: Noise, law: Law, step: float) -> arb:
    """Return what probabilities under a law must be charged for double precision on a grid, less
    1%: e 2^-53 (4 d + 2 sqrt(d) E|y| / step); e was measured.

    In two dimensions the density must fall with the norm. The normal law has E|y| >= sigma sqrt(d -
    1/2): with E_d = E|y| / sigma, E_(d+2) = E_d (d+1)/d, so that E_d^2 / (d - 1/2), which tends to
    1, falls by the factor 1 - 1/(2 d^2 (d + 3/2)) from d to d + 2.
    """
    demand(0 < step < math.inf and law.noise == noise, "there is no such grid")
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
        return (amount * 99 / 100).min(arb(1)).lower()


def binomial_tail(hits: int, n: int, p: arb) -> arb:
    """Enclose Pr[X >= hits] for X ~ Binomial(n, p), the distribution function of Beta(hits,
    n - hits + 1) at p, or its complement where p is beyond the mean."""
    with proving():
        if hits <= 0 or hits > n or p <= 0 or p >= 1:
            return arb(1 if hits <= 0 or (hits <= n and p >= 1) else 0)
        demand(p > 0 and p < 1, "it is not known whether this is a probability")
        a, b, logit = arb(hits), arb(n - hits + 1), (p / (1 - p)).log()
        return beta_below(a, b, logit) if p.mid() * n <= a else 1 - beta_below(b, a, -logit)


def beta_below(a: arb, b: arb, end: arb) -> arb:
    """Enclose Pr[v < end] for the logit v of a Beta(a, b) variable. Its log-density a v - (a + b)
    log(1 + e^v) - ln B(a, b) is concave, and lies under its tangent at `low`."""
    whole, constant = a + b, (a + b).lgamma() - a.lgamma() - b.lgamma()

    def log(v: arb) -> arb:
        return a * v - whole * v.exp().log1p() + constant

    def density(v: Ball) -> tuple[Ball, arb]:
        c = v.real.mid()  # Taylor's theorem about the centre
        share, away = 1 / (1 + (-v).exp()), v - c
        line = log(c) + away * (a - whole / (1 + (-c).exp()))
        return (line - whole * share * (1 - share) * away * away / 2).exp(), arb(0)

    low, top = end.mid(), log(end.mid())
    step = ((1 + low.exp()) * (1 + (-low).exp()) / whole).sqrt()
    while not log(low) < top - 60:
        low, step = (low - step).mid(), step * 1.2
    fall = a - whole / (1 + (-low).exp())
    demand(fall > 0, "a tail of the binomial law cannot be enclosed")
    left_out = arb(0).union(log(low).exp() / fall)
    return integral(density, low, end, Budget(), SHARP * float(top.exp())) + left_out


def staged_tail(first: int, hits: int, n: int, p: arb) -> arb:
    """Enclose p^first Pr[Binomial(n, p) >= hits]: `first` votes before the others, all hits."""
    tail = binomial_tail(hits, n, p)
    with proving():
        return p**first * tail
