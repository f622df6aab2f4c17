"""B as it is defined, on a dense grid of shells and angles: slow, simple, good to some 1e-5.

Nothing is shared with the package. Laws are densities of x = ln t that may be as narrow, as wide
and as far from each other as they like: each brings the cells on which it is to be seen, down to
e^-60 of its largest value. On every shell min(g(x), p(x - delta)) is averaged over the angles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]
LogDensity = Callable[[Array], Array]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)
DROP = 60.0  # e-folds
CELLS = 300  # from the largest value of a law to where it ends, on either side
ANGLES = 120  # panels of directions
AT_ONCE = 2000  # shells


class Noise(NamedTuple):
    """P: density ~ |x|^(-2k) exp(-t), t = (|x|/s)^eta, with E|x|^2 = sigma^2 d."""

    d: int
    sigma: float
    k: float
    eta: float

    @property
    def m(self) -> float:
        return (self.d - 2 * self.k) / self.eta

    @property
    def s(self) -> float:
        growth = special.poch(self.m, 2 / self.eta)  # Gamma(m + 2/eta) / Gamma(m)
        return float(self.sigma * math.sqrt(self.d / growth))

    def log_density(self, x: Array, rate: float = 1.0) -> Array:
        """Of x = ln t where rate t ~ Gamma(m, 1)."""
        w = x + math.log(rate / self.m)
        peak = self.m * math.log(self.m) - self.m - math.lgamma(self.m)
        if self.m > 100:  # Stirling: the difference above loses its digits
            peak = 0.5 * math.log(self.m / (2 * math.pi)) - 1 / (12 * self.m) + self.m**-3 / 360
        return np.asarray(peak + self.m * (w - np.expm1(np.minimum(w, 700.0))))


class Law(NamedTuple):
    """A log-density of x = ln t, and edges of cells on which it is nearly straight."""

    log_density: LogDensity
    edges: Array


def cells(log_density: LogDensity, top: float, low: float, high: float) -> Array:
    """Edges from the largest value of a concave function at `top` to where it has fallen away."""
    edges = [top]
    most = _at(log_density, top)
    for end in (low, high):
        side = 1.0 if end > top else -1.0
        if end == top:
            continue
        reach = 1e-9
        while abs(end - top) > reach and _at(log_density, top + side * reach) > most - DROP:
            reach *= 2.0
        near, far = 0.0, min(reach, abs(end - top))
        for _ in range(60 if _at(log_density, top + side * far) < most - DROP else 0):
            middle = 0.5 * (near + far)
            if _at(log_density, top + side * middle) < most - DROP:
                far = middle
            else:
                near = middle
        edges += (top + side * far * np.linspace(0, 1, CELLS + 1)[1:]).tolist()
    return np.array(sorted(edges))


def _at(log_density: LogDensity, x: float) -> float:
    return float(log_density(np.array([x]))[0])


def own(noise: Noise) -> Law:
    return rescaled(noise, noise.sigma)


def rescaled(noise: Noise, beta: float) -> Law:
    rate = (noise.sigma / beta) ** noise.eta

    def log_density(x: Array) -> Array:
        return noise.log_density(x, rate)

    top = math.log(noise.m / rate)
    return Law(log_density, cells(log_density, top, -math.inf, math.inf))


def truncated(noise: Noise, percentile: float) -> Law:
    cut = math.log(special.gammaincinv(noise.m, percentile))
    edges = cells(noise.log_density, min(cut, math.log(noise.m)), -math.inf, cut)

    def log_density(x: Array) -> Array:
        return np.where(x <= cut, noise.log_density(x) - math.log(percentile), -np.inf)

    return Law(log_density, edges)


def weighted(
    noise: Noise,
    knots: Sequence[float],
    log_weights: Sequence[float],
    inner: float | None = None,
    outer: float | None = None,
) -> Law:
    """lambda p / nu, ln lambda a line between the points (ln knot, log weight)."""
    places, logs = np.log(np.array(knots)), np.array(log_weights) - max(log_weights)
    pieces = [
        (a, b, a, log, (after - log) / (b - a))
        for a, b, log, after in zip(places, places[1:], logs, logs[1:], strict=False)
        if b > a and log > -math.inf
    ]
    if inner is not None:
        pieces.append((-math.inf, places[0], places[0], logs[0], inner))
    if outer is not None:
        pieces.append((places[-1], math.inf, places[-1], logs[-1], outer))
    edges = []
    for low, high, at, log, slope in pieces:
        peak = math.log(noise.m + slope) if noise.m + slope > 0 else -math.inf
        edges.append(
            cells(
                lambda x, at=at, log=log, slope=slope: (  # type: ignore[misc]
                    noise.log_density(x) + log + slope * (x - at)
                ),
                min(max(peak, low), high),
                low,
                high,
            )
        )

    def raw(x: Array) -> Array:
        values = np.full(x.shape, -np.inf)
        for low, high, at, log, slope in pieces:
            inside = (x > low) & (x <= high)
            values[inside] = noise.log_density(x[inside]) + log + slope * (x[inside] - at)
        return values

    every = np.unique(np.concatenate(edges))
    nodes, weights = gauss(every)
    values = raw(nodes)
    log_total = values.max() + math.log(weights @ np.exp(values - values.max()))
    return Law(lambda x: raw(x) - log_total, every)


def gauss(edges: Array) -> tuple[Array, Array]:
    """Gauss nodes and weights on the cells between these edges."""
    half, centre = 0.5 * np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
    return (centre[:, None] + half[:, None] * NODES).ravel(), (half[:, None] * WEIGHTS).ravel()


def dual_bound(
    noise: Noise,
    laws: Sequence[Law],
    ends: Sequence[float],
    multipliers: Sequence[float],
    radius: float,
) -> float:
    """B at a shift of length `radius`; the first law is P."""
    used = [(law, value) for law, value in zip(laws, multipliers, strict=True) if value]
    x, weight = gauss(np.unique(np.concatenate([law.edges for law, _ in used])))
    g = sum((value * np.exp(law.log_density(x)) for law, value in used), np.zeros(x.shape))
    total = float(weight @ np.minimum(g, 0.0))
    positive = g > 0
    x, weight, g = x[positive], weight[positive], g[positive]
    reach = min(math.pi / 2, 9 / math.sqrt(max(noise.d - 2, 1)))
    angle, share = gauss(np.linspace(-reach, reach, ANGLES + 1))
    share = share * np.cos(angle) ** (noise.d - 2)
    cosine, share = np.sin(angle), share / share.sum()
    rho = math.sqrt(2) * radius / noise.s  # |x|^2/2 is t^(2/eta) in these units
    for first in range(0, len(x), AT_ONCE):
        shells = slice(first, first + AT_ONCE)
        u = x[shells, None]
        norm = np.exp(u / noise.eta) * math.sqrt(2)
        away = np.minimum(rho / norm, 1e150)  # its square is a number
        square = np.maximum(away**2 - 2 * away * cosine, -1 + 1e-15)
        step = 0.5 * noise.eta * np.log1p(square)  # from shell to shell, in ln t
        ratio = -2 * noise.k / noise.eta * step - np.exp(u) * np.expm1(np.minimum(step, 700.0))
        least = np.minimum(np.log(g[shells, None]), noise.log_density(u) + ratio)
        total += float(weight[shells] @ (np.exp(least) @ share))
    return total - sum(
        value * (1 - end) for value, end in zip(multipliers, ends, strict=True) if value
    )
