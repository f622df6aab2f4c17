"""B for any number of laws from its definition alone (docs/math.md 1, 2, 3), in NumPy.

Nothing is shared with the package: laws are the densities of ln t that define them, the integral of
min(g(x), p(x - delta)) is taken over shells and angles as it stands, and the zeros of g are
those of a dense scan, with every near miss polished. Slow; the answer states its own error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, optimize, special

Array = NDArray[np.float64]
TAIL = 1e-18  # of each law, left out at each end
GRID, LEAST = 20_000, 1_500  # points of the scan for zeros, in all and on one piece
INNER_NODES, INNER_WEIGHTS = np.polynomial.legendre.leggauss(10)
NEGLIGIBLE = -60.0  # logarithm
# Shares of a piece that grow thinner towards its ends.
_THIN = 0.25 ** np.arange(1, 15)
GRADED = np.unique(np.concatenate([_THIN, 1 - _THIN, np.linspace(0, 1, 7)]))


@dataclass(frozen=True)
class Noise:
    """P: density ~ |x|^(-2k) exp(-t), t = (|x|/s)^eta, with E|x|^2 = sigma^2 d."""

    d: int
    sigma: float
    k: float = 0.0
    eta: float = 2.0

    @property
    def m(self) -> float:
        return (self.d - 2 * self.k) / self.eta

    @property
    def s(self) -> float:
        """E (|x|/s)^2 = Gamma(m + 2/eta) / Gamma(m)."""
        square = math.exp(special.gammaln(self.m + 2 / self.eta) - special.gammaln(self.m))
        return self.sigma * math.sqrt(self.d / square)

    def log_density(self, x: Array, rate: float = 1.0) -> Array:
        """Of x = ln t where rate t ~ Gamma(m, 1), written around its peak."""
        w = x + math.log(rate / self.m)
        peak = self.m * math.log(self.m) - self.m - float(special.gammaln(self.m))
        if self.m > 100:  # Stirling: the difference above loses its digits
            peak = 0.5 * math.log(self.m / (2 * math.pi)) - 1 / (12 * self.m) + self.m**-3 / 360
        return np.asarray(peak + self.m * (w - np.expm1(w)))

    def span(self, rate: float = 1.0) -> tuple[float, float]:
        """ln t between which all but TAIL of the mass lies at each end."""
        low = float(special.gammaincinv(self.m, TAIL))
        start = math.log(low) if low > 1e-280 else _small_quantile(self.m)
        return start - math.log(rate), math.log(special.gammainccinv(self.m, TAIL) / rate)


def _small_quantile(m: float) -> float:
    return (math.log(TAIL) + math.lgamma(m + 1)) / m


@dataclass(frozen=True)
class Law:
    """A density of x = ln t, where it jumps, and the range that holds its mass."""

    density: Callable[[Array], Array]
    breaks: tuple[float, ...]
    span: tuple[float, float]


def own(noise: Noise) -> Law:
    return Law(lambda x: np.exp(noise.log_density(x)), (), noise.span())


def truncated(noise: Noise, percentile: float) -> Law:
    cut = math.log(special.gammaincinv(noise.m, percentile))

    def density(x: Array) -> Array:
        return np.where(x <= cut, np.exp(noise.log_density(x)) / percentile, 0.0)

    return Law(density, (cut,), (noise.span()[0], cut))


def annulus(noise: Noise, low: float, high: float) -> Law:
    """P between the shells that hold these shares of its mass."""
    a, b = (math.log(special.gammaincinv(noise.m, share)) for share in (low, high))

    def density(x: Array) -> Array:
        return np.where((x > a) & (x <= b), np.exp(noise.log_density(x)) / (high - low), 0.0)

    return Law(density, (a, b), (a, b))


def rescaled(noise: Noise, beta: float) -> Law:
    rate = (noise.sigma / beta) ** noise.eta
    return Law(lambda x: np.exp(noise.log_density(x, rate)), (), noise.span(rate))


def weighted(noise: Noise, knots: Sequence[float], log_weights: Sequence[float]) -> Law:
    """lambda p / nu, ln lambda a line between the points (ln knot, log weight), 0 outside."""
    places = np.log(np.asarray(knots))

    def raw(x: Array) -> Array:
        inside = (x >= places[0]) & (x <= places[-1])
        line = np.interp(x, places, np.asarray(log_weights))
        return np.where(inside, np.exp(line + noise.log_density(x)), 0.0)

    nu = 0.0
    for a, b in pairwise(places):
        cuts = np.linspace(a, b, 20)
        for left, right in pairwise(cuts):
            nu += integrate.quad(lambda x: float(raw(np.array(x))), left, right, epsabs=0)[0]
    low, high = noise.span()
    span = max(float(places[0]), low - 40 / noise.m), min(float(places[-1]), high + 2)
    return Law(lambda x: raw(x) / nu, tuple(float(x) for x in places), span)


@dataclass(frozen=True)
class Answer:
    """B and what it may be wrong by."""

    value: float
    error: float


def dual_bound(
    noise: Noise, laws: Sequence[Law], ends: Sequence[float], multipliers: Sequence[float], r: float
) -> Answer:
    """B = integral of min(g(x), p(x - delta)) dx - sum_i l_i (1 - X_i); laws[0] is P."""
    used = [
        (law, multiplier)
        for law, multiplier in zip(laws, multipliers, strict=True)
        if multiplier != 0
    ]

    def g(x: Array) -> Array:
        return np.asarray(sum(multiplier * law.density(x) for law, multiplier in used) + 0.0 * x)

    def gross(x: Array) -> Array:
        return np.asarray(
            sum(abs(multiplier) * law.density(x) for law, multiplier in used) + 0.0 * x
        )

    plane = Plane(noise, r * math.sqrt(2) / noise.s)
    edges = _edges(laws, used, g, gross, plane)
    total, error, size = _adaptive(lambda x: plane.least(x, g(x)), gross, edges)
    known = sum(multiplier * (1 - X) for multiplier, X in zip(multipliers, ends, strict=True))
    return Answer(total - known, error + 1e-14 * (1 + size) + 5e-11)


def zeros(
    g: Callable[[Array], Array],
    gross: Callable[[Array], Array],
    a: float,
    b: float,
    points: int = GRID,
) -> list[float]:
    """Zeros of g on [a, b] by a dense scan; where it nearly touches 0, after polishing."""
    grid = np.linspace(a, b, points)
    values = g(grid)
    found = [
        optimize.brentq(lambda x: float(g(np.array(x))), grid[i], grid[i + 1], xtol=1e-15)
        for i in np.flatnonzero(values[:-1] * values[1:] < 0)
    ]
    sign = np.sign(values)
    heights, scale = np.abs(values), gross(grid)
    inner = np.arange(1, points - 1)
    touching = (heights[inner] <= heights[inner - 1]) & (heights[inner] <= heights[inner + 1])
    touching &= (sign[inner] == sign[inner - 1]) & (sign[inner] == sign[inner + 1])
    touching &= (heights[inner] < 0.05 * scale[inner]) & (scale[inner] > 0)
    for i in inner[touching]:
        side = sign[i]
        low, high = grid[i - 1], grid[i + 1]
        best = optimize.minimize_scalar(
            lambda x: float(side * g(np.array(x))),  # noqa: B023
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-13},
        )
        if best.fun < 0:
            for end in (low, high):
                ends = sorted((float(best.x), end))
                found.append(optimize.brentq(lambda x: float(g(np.array(x))), *ends, xtol=1e-15))
    return sorted(found)


def _edges(
    laws: Sequence[Law],
    used: Sequence[tuple[Law, float]],
    g: Callable[[Array], Array],
    gross: Callable[[Array], Array],
    plane: Plane,
) -> list[float]:
    """Panels to begin with: cut at jumps and zeros of g, where a law's range ends, and where
    min(g, p) begins or ceases to take all of a shell. Towards all these they grow thinner."""
    low = min(law.span[0] for law in laws)
    high = max(law.span[1] for law in laws)
    cuts = {low, high} | {end for law in laws for end in law.span}
    cuts |= {x for law, _ in used for x in law.breaks if low < x < high}
    edges = set(cuts)
    points = max(GRID // len(cuts), LEAST)
    for a, b in pairwise(sorted(cuts)):
        room = 1e-13 * max(1.0, abs(a), abs(b))
        if b - a > 4 * room:
            edges |= set(zeros(g, gross, a + room, b - room, points))
    for a, b in pairwise(sorted(edges)):
        grid = a + (b - a) * GRADED
        edges |= set(grid)
        values = g(grid)
        sine = np.where(values > 0, plane.sine(grid, np.maximum(values, 1e-300)), -1.0)
        for level in (1.0, 8 / math.sqrt(plane.noise.d)):
            for side in (-level, level):
                crossed = np.flatnonzero(np.diff(sine < side * (1 - 1e-12)))
                for i in crossed:
                    edges |= set(np.linspace(grid[i], grid[i + 1], 9))
    return sorted(edges)


def _fejer(count: int) -> tuple[Array, Array]:
    """Clenshaw-Curtis nodes and weights on [-1, 1]: exact for the Chebyshev polynomials."""
    angles = np.pi * np.arange(count + 1) / count
    orders = np.arange(count + 1)
    even = orders % 2 == 0
    integrals = np.where(even, 2 / (1.0 - np.where(even, orders, 0.0) ** 2), 0.0)
    return np.cos(angles), np.linalg.solve(np.cos(np.outer(orders, angles)), integrals)


NODES, FINE = _fejer(16)
COARSE = np.zeros(17)
COARSE[::2] = _fejer(8)[1]


def _adaptive(
    function: Callable[[Array], Array], gross: Callable[[Array], Array], edges: list[float]
) -> tuple[float, float, float]:
    """Nested rules of 17 and 9 nodes on panels that are halved until both agree.

    Returns the integral, how far the two differ in all, and the integral of `gross`.
    """
    a, b = np.array(edges[:-1]), np.array(edges[1:])

    def values(f: Callable[[Array], Array], low: Array, high: Array) -> Array:
        # Not quite to the ends, where g may jump.
        x = 0.5 * (low + high)[:, None] + 0.5 * (1 - 1e-12) * (high - low)[:, None] * NODES
        return np.asarray(0.5 * (high - low)[:, None] * f(x.ravel()).reshape(x.shape))

    size = float((values(gross, a, b) @ FINE).sum())
    total = error = 0.0
    for _ in range(60):
        at = values(function, a, b)
        fine, gap = at @ FINE, np.abs(at @ (FINE - COARSE))
        done = (gap <= 1e-12 + 1e-15 * size) | (b - a < 1e-13 * np.maximum(1.0, np.abs(a)))
        total += float(fine[done].sum())
        # The finer rule is far better than the difference of the two.
        error += 0.1 * float(gap[done].sum())
        if done.all():
            break
        middle = 0.5 * (a + b)
        a, b = np.append(a[~done], middle[~done]), np.append(middle[~done], b[~done])
    else:
        error = math.inf
    return total, error, size


class Plane:
    """Shells and angles of x, for a shift of length rho in units of s / sqrt(2)."""

    def __init__(self, noise: Noise, rho: float) -> None:
        self.noise, self.rho = noise, rho
        d = noise.d
        self.log_norm = float(special.gammaln(d / 2) - special.gammaln((d - 1) / 2))
        if d > 1000:
            self.log_norm = 0.5 * math.log((d - 1.5) / 2) + 1 / (16 * (d - 1.5) ** 2)
        self.log_norm -= 0.5 * math.log(math.pi)
        # Angles in standard deviations; towards the shift the ratio grows, so further there.
        reach = 0.5 * math.pi * math.sqrt(d)
        near = np.arange(-12.0, 12.01, 1.0)
        far = 12.0 * 1.12 ** np.arange(1, 80)
        # In few dimensions a shell comes close to delta itself, where the ratio is steep.
        fine = np.linspace(-reach, reach, 25)[1:-1] if d < 64 else np.empty(0)
        z = np.sort(np.concatenate([near, far, fine]))
        z = z[(z > -reach) & (z < reach)]
        self.grid = np.concatenate([[max(-reach, -14.0)], z, [reach]]) / math.sqrt(d)

    def least(self, x: Array, g: Array) -> Array:
        """g where it is negative, else the mean of min(g, p(x - delta)) over the shell of x."""
        found = g.copy()
        for start in range(0, len(x), 2000):
            part = slice(start, start + 2000)
            positive = g[part] > 0
            if positive.any():
                values = found[part]
                values[positive] = self._positive(x[part][positive], g[part][positive])
        return found

    def sine(self, x: Array, g: Array) -> Array:
        """The cosine with the shift at which p(x - delta) = g: the sine of the angle walked here.

        With s the shell of x - delta: -kappa ln(s/t) - (s - t) = ln(g/p).
        """
        noise, rho = self.noise, self.rho
        kappa = 2 * noise.k / noise.eta
        t, h = np.exp(x), np.exp(2 * x / noise.eta)
        log_ratio = np.log(g) - noise.log_density(x)
        if kappa:
            wanted = np.log(t / kappa) + (t - log_ratio) / kappa
            step = np.log(kappa * special.wrightomega(np.maximum(wanted, -700.0))) - x
            for _ in range(3):
                miss = -kappa * step - t * np.expm1(step) - log_ratio
                step = step + miss / (kappa + t * np.exp(step))
            change = np.expm1(2 * step / noise.eta)
        else:
            left = np.maximum(1 - log_ratio / t, 0.0)
            change = left ** (2 / noise.eta) - 1
            small = np.abs(log_ratio) < 0.1 * t
            change[small] = np.expm1(2 / noise.eta * np.log1p(-log_ratio[small] / t[small]))
        return np.asarray((rho * rho / 2 - h * change) / (rho * np.sqrt(2 * h)))

    def _positive(self, x: Array, g: Array) -> Array:
        noise, d = self.noise, self.noise.d
        t, h = np.exp(x), np.exp(2 * x / noise.eta)  # |x|^2 / 2
        log_p = noise.log_density(x)
        sine = self.sine(x, g)
        angle = np.arcsin(np.clip(sine, -1.0, 1.0))
        a = (d - 1) / 2
        above = special.betainc(a, a, 0.5 * (1 - np.clip(sine, -1.0, 1.0)))
        first = self.grid[0]
        # Cells up to that angle, finer towards it: there the ratio is steepest.
        graded = angle[:, None] - (angle - first)[:, None] * 0.5 ** np.arange(1, 16)
        top = angle[:, None]
        cells = np.concatenate([np.broadcast_to(self.grid, (len(x), len(self.grid))), graded], 1)
        cells = np.sort(np.clip(np.concatenate([cells, top], 1), first, np.maximum(top, first)), 1)
        # Cells where nothing arrives are left out.
        at_edges = self._log_arriving(cells, t[:, None], h[:, None], log_p[:, None])
        heights = np.maximum(at_edges[:, 1:], at_edges[:, :-1])
        rows, columns = np.nonzero((np.diff(cells, axis=1) > 0) & (heights > NEGLIGIBLE))
        low, high = cells[rows, columns], cells[rows, columns + 1]
        phi = 0.5 * (low + high)[:, None] + 0.5 * (high - low)[:, None] * INNER_NODES
        own = t[rows, None], h[rows, None], log_p[rows, None]
        arriving = np.exp(self._log_arriving(phi, *own)) @ INNER_WEIGHTS
        total = np.bincount(rows, 0.5 * (high - low) * arriving, len(x))
        return np.asarray(g * above + total)

    def _log_arriving(self, phi: Array, t: Array, h: Array, log_p: Array) -> Array:
        """Log of p(x - delta) times the density of the angle."""
        noise, rho, d = self.noise, self.rho, self.noise.d
        kappa = 2 * noise.k / noise.eta
        sine = np.sin(phi)
        moved = (rho * rho / 2 - rho * np.sqrt(2 * h) * sine) / h
        with np.errstate(divide="ignore"):
            step = 0.5 * noise.eta * np.log1p(np.maximum(moved, -1.0))
            angle = (d - 2) * np.log(np.cos(phi)) if d > 2 else 0.0
        # Where x is delta itself the ratio may be infinite, but no mass is.
        step = np.maximum(step, -600.0)
        return np.asarray(log_p - kappa * step - t * np.expm1(step) + angle + self.log_norm)
