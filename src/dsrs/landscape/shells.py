"""Shells of P in normal scores: what a shift does to caps of them, on one fixed grid.

Noise of norm |x| in a uniform direction; c is its cosine with the shift delta of length r. A cap
of a shell is {c <= c_d(a)}, the part of probability a on the side away from the shift; it is
named by its normal score y = Phi^-1(a). In scores the cosine of every dimension is standard
normal, and so is the norm of every law P: everything is smooth at scale 1, and sums over equally
spaced scores converge at once.

With LR = p(x - delta) / p(x), which rises with c (docs/math.md 2), G(y) = E[LR; cap y] is the mass
that the shift carries into the cap. These tables are for predicting and choosing, to some 1e-4 of
the radius (below 64 dimensions less well); certificates come from `dsrs.duality`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.laws import GeneralizedGaussian, Weighted

Floats = NDArray[np.float64]

SHELL_REACH, SHELL_STEP = 6.0, 0.2
CAP_REACH, CAP_STEP = 6.5, 0.25
LARGEST_SHELL_LOG_RATIO = 60.0
# ln of the scale of a weight: its range, and when it is close enough.
LARGEST_SCALE, SCALE_STEPS, HEIGHT_TOLERANCE = 200.0, 60, 1e-5
# Shifts in units of sigma: from next to nothing to what no vote count that anyone takes allows.
LEAST_SHIFT, MOST_SHIFT, SHIFT_COUNT = 0.01, 16.0, 72

SHELL_SCORES = np.linspace(-SHELL_REACH, SHELL_REACH, round(2 * SHELL_REACH / SHELL_STEP) + 1)
CAP_SCORES = np.linspace(-CAP_REACH, CAP_REACH, round(2 * CAP_REACH / CAP_STEP) + 1)


def normal_density(y: Floats) -> Floats:
    """The standard normal density."""
    return np.asarray(np.exp(-0.5 * y * y) / np.sqrt(2 * np.pi))


def cosine_of_score(d: int, score: Floats) -> Floats:
    """c_d: the cosine with Pr[c <= c_d] = Phi(score), where (1 + c)/2 ~ Beta((d-1)/2, (d-1)/2).

    c^2 ~ Beta(1/2, (d-1)/2) keeps its digits where d is large.
    """
    outside = 2 * special.ndtr(-np.abs(score))
    square = special.betainccinv(0.5, 0.5 * (d - 1), outside)
    return np.asarray(np.sign(score) * np.sqrt(square))


@functools.lru_cache(maxsize=64)
def _cap_cosines(d: int) -> Floats:
    return cosine_of_score(d, CAP_SCORES)


@dataclass(frozen=True, slots=True, eq=False)
class Shells:
    """The shells of a law with sigma = 1, and tables of LR and G at the shifts of a grid.

    `log_ratios[s, i, j]` is ln LR at shift s, shell i, cap score j, and `carried` is G there.
    """

    law: GeneralizedGaussian
    t: Floats
    norms: Floats
    mass: Floats  # of P, adding up to 1
    shifts: Floats
    log_ratios: Floats
    carried: Floats

    def log_ratio(self, shift: float, scores: Floats) -> Floats:
        """ln LR on each shell at the edge of its cap; -inf where there is no cap."""
        cosines = np.interp(scores, CAP_SCORES, _cap_cosines(self.law.d))
        ratios = _log_ratio(self.law, self.t, shift / self.norms, cosines)
        return np.where(scores > -CAP_REACH, ratios, -np.inf)

    def carried_into(self, shift: NDArray[np.intp], scores: Floats) -> Floats:
        """Mass carried into the caps: the mean of G over the shells.

        `scores` has the shells last; `shift` (places in `shifts`) has the axes before it.
        """
        place = np.clip((scores + CAP_REACH) / CAP_STEP, 0.0, len(CAP_SCORES) - 1 - 1e-9)
        cell = place.astype(np.intp)
        x = place - cell
        rows = shift[..., None] * len(self.t) + np.arange(len(self.t))
        left = rows * len(CAP_SCORES) + cell
        below, ratios = self.carried.reshape(-1), self.log_ratios.reshape(-1)
        g0, g1 = below[left], below[left + 1]
        # Cubic Hermite: dG/dy = LR times the normal density.
        slope0 = CAP_STEP * np.exp(ratios[left] + _LOG_DENSITY[cell])
        slope1 = CAP_STEP * np.exp(ratios[left + 1] + _LOG_DENSITY[cell + 1])
        rise = g1 - g0
        g = g0 + x * (
            slope0 + x * (3 * rise - 2 * slope0 - slope1 + x * (slope0 + slope1 - 2 * rise))
        )
        return np.asarray(np.where(scores > -CAP_REACH, g, 0.0) @ self.mass)

    def largest_shift(self, scores: Floats) -> Floats:
        """For each row of caps (shells last), where the mass carried into them falls to 1/2.

        0 where it is below at every shift. Phi^-1 of the mass is nearly straight in the shift:
        bisection over the grid, then a parabola through three of its points.
        """
        shape = scores.shape[:-1]
        low, high = np.zeros(shape, np.intp), np.full(shape, len(self.shifts) - 1, np.intp)
        while np.any(high - low > 1):
            middle = (low + high) // 2
            above = self.carried_into(middle, scores) > 0.5
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        first = np.clip(low - 1, 0, len(self.shifts) - 3)
        r0, r1, r2 = (self.shifts[first + n] for n in range(3))
        h0, h1, h2 = (self._height(first + n, scores) for n in range(3))
        # Inverse quadratic interpolation. Heights fall strictly, but for rows far below 1/2.
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (
                r0 * h1 * h2 / ((h0 - h1) * (h0 - h2))
                + r1 * h0 * h2 / ((h1 - h0) * (h1 - h2))
                + r2 * h0 * h1 / ((h2 - h0) * (h2 - h1))
            )
        found = np.clip(found, self.shifts[low], self.shifts[high])
        certain = self._height(np.zeros(shape, np.intp), scores) > 0
        return np.where(certain & np.isfinite(found), found, 0.0)

    def needed_misses(self, log_weights: Floats, shift: NDArray[np.intp]) -> Floats:
        """The largest miss rate 1 - L of Q_A that still proves these shifts (places in `shifts`).

        Q is P weighted by lambda (shells last). Neyman-Pearson between Q and the shifted P
        (docs/math.md 9): caps LR <= s lambda with the scale s that leaves them half of the
        shifted mass; L is their probability under Q. Secants in ln s, as Phi^-1 of the mass is
        nearly straight in it, with a bracket.
        """
        low = np.full(shift.shape, -LARGEST_SCALE)
        high = -low
        scale = np.zeros(shift.shape)
        last, last_height = scale, np.zeros(shift.shape)
        for step in range(SCALE_STEPS):
            scores = self._caps_below(shift, scale[..., None] + log_weights)
            height = self._height(shift, scores)
            if np.all(np.abs(height) < HEIGHT_TOLERANCE):
                break
            low, high = np.where(height > 0, low, scale), np.where(height > 0, scale, high)
            with np.errstate(divide="ignore", invalid="ignore"):
                # For a Gaussian the slope is 1 / shift.
                slope = (height - last_height) / (scale - last) if step else 1 / self.shifts[shift]
                ahead = scale - height / slope
            last, last_height = scale, height
            scale = np.where((ahead > low) & (ahead < high), ahead, 0.5 * (low + high))
        weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True)) * self.mass
        return np.asarray(np.sum(special.ndtr(-scores) * weights, -1) / weights.sum(axis=-1))

    def _caps_below(self, shift: NDArray[np.intp], level: Floats) -> Floats:
        """Scores of the caps ln LR <= level, by straight lines between the tabled scores.

        The mass of min(lambda, LR) is stationary in the edge of a cap, so this is close enough.
        """
        ratios = self.log_ratios[shift]
        cell = np.clip(np.sum(ratios < level[..., None], axis=-1) - 1, 0, len(CAP_SCORES) - 2)
        rows = shift[..., None] * len(self.t) + np.arange(len(self.t))
        left, flat = rows * len(CAP_SCORES) + cell, self.log_ratios.reshape(-1)
        start, end = flat[left], flat[left + 1]
        with np.errstate(invalid="ignore"):
            part = np.clip((level - start) / np.maximum(end - start, 1e-12), -1e9, 1.0)
        return np.where(level > -np.inf, CAP_SCORES[cell] + CAP_STEP * part, -np.inf)

    def _height(self, shift: NDArray[np.intp], scores: Floats) -> Floats:
        mass = np.clip(self.carried_into(shift, scores), 1e-15, 1 - 1e-12)
        return np.asarray(special.ndtri(mass))


_LOG_DENSITY = np.log(normal_density(CAP_SCORES))


def shells_of(law: GeneralizedGaussian) -> Shells:
    """The shells of P in units of sigma; made once for laws that differ in sigma only."""
    return _shells(law.d, law.k, law.eta)


@functools.lru_cache(maxsize=32)
def _shells(d: int, k: float, eta: float) -> Shells:
    law = GeneralizedGaussian(d, 1.0, k, eta)
    upper = SHELL_SCORES > 0
    t = special.gammaincinv(law.m, special.ndtr(SHELL_SCORES))
    t[upper] = special.gammainccinv(law.m, special.ndtr(-SHELL_SCORES[upper]))
    norms = law.norm(t)
    mass = normal_density(SHELL_SCORES)
    mass /= mass.sum()
    shifts = np.geomspace(LEAST_SHIFT, MOST_SHIFT, SHIFT_COUNT)
    per_norm = shifts[:, None, None] / norms[:, None]
    log_ratios = _log_ratio(law, t[:, None], per_norm, _cap_cosines(d))
    f = np.exp(log_ratios + _LOG_DENSITY)
    # Each cell from the cubic through four points; the ends are negligible.
    cells = 13 / 24 * (f[..., 1:] + f[..., :-1])
    cells[..., 1:-1] -= (f[..., 3:] + f[..., :-3]) / 24
    carried = np.zeros_like(f)
    np.cumsum(CAP_STEP * cells, axis=-1, out=carried[..., 1:])
    return Shells(law, t, norms, mass, shifts, log_ratios, carried)


def _log_ratio(law: GeneralizedGaussian, t: Floats, per_norm: Floats, cosine: Floats) -> Floats:
    """ln p(x - delta)/p(x) with |x - delta|^2 = |x|^2 (1 + per_norm^2 - 2 per_norm c)."""
    with np.errstate(divide="ignore", over="ignore"):
        log_growth = 0.5 * np.log1p(np.maximum(per_norm * (per_norm - 2 * cosine), -1.0))
        ratio = -2 * law.k * log_growth - t * np.expm1(law.eta * log_growth)
    return np.asarray(np.clip(ratio, -300.0, LARGEST_SHELL_LOG_RATIO))


# ---- From lambda on shells to a law: made to fall, and drawn with few knots
#
# A law whose density falls with |x| proves a ball with one evaluation of the dual bound
# (docs/math.md 5). With kappa = 2k/eta, lambda t^(-kappa) e^(-t) falls on a piece of slope
# b = d ln lambda / d ln t if b <= kappa + t at the start of the piece.

MOST_FITTED_KNOTS = 24
# A knot more where ln lambda is off by this much, weighted by the root of the shell's share of Q.
KNOT_TOLERANCE = 2e-3
WEIGHT_DECIMALS = 3  # of ln lambda: finer than what knots miss
# Shells with less of Q (and of P) are left to the slopes at the ends.
LEAST_SHELL_SHARE = 1e-6
STEEPEST_WEIGHT = 1e4


def falling(base: GeneralizedGaussian, t: Floats, log_weights: Floats) -> Floats:
    """The least lambda above the given one such that lambda p falls with |x| between the shells.

    Raised towards the centre: there P has little noise, so votes spent on it are few.
    """
    raised = log_weights.copy()
    limits = (base.power_in_t + t[:-1]) * np.diff(np.log(t)) * (1 - 1e-9)
    for i in range(len(t) - 2, -1, -1):
        raised[i] = max(raised[i], raised[i + 1] - limits[i])
    return raised


def knotted(base: GeneralizedGaussian, shells: Shells, log_weights: Floats) -> Weighted:
    """A law through the points of a falling lambda that matter, at most `MOST_FITTED_KNOTS`.

    Greedy: the shell that the lines so far miss by most becomes a knot. Lines between points of a
    falling lambda may be too steep at their start; they are made to fall once more. Noise is keyed
    by the law, so lambda is rounded first: its last bits depend on the threads of matrix products.
    """
    t, log_weights = shells.t, np.round(log_weights, WEIGHT_DECIMALS)
    with np.errstate(divide="ignore"):
        share = np.exp(log_weights - np.max(log_weights)) * shells.mass
    share /= share.sum()
    matters = (share > LEAST_SHELL_SHARE) | (
        (shells.mass > LEAST_SHELL_SHARE) & (log_weights > -np.inf)
    )
    positive = np.flatnonzero(log_weights > -np.inf)
    last = positive[-1]
    inside = np.flatnonzero(matters)
    stop = max(min(inside[-1], last), 1)
    first = min(inside[0], stop - 1)
    u, places = np.log(t), [first, stop]
    importance = np.sqrt(share)
    while len(places) < min(MOST_FITTED_KNOTS, stop - first + 1):
        line = np.interp(u, u[places], log_weights[places])
        off = np.abs(line - log_weights)[first : stop + 1] * importance[first : stop + 1]
        if not off.max() > KNOT_TOLERANCE:
            break
        places = sorted([*places, first + int(np.argmax(off))])
    chosen = falling(base, t[places], log_weights[places])
    chosen -= chosen.max()
    slopes = np.diff(chosen) / np.diff(u[places])
    inner = float(np.clip(slopes[0], -0.5 * base.m, base.power_in_t))
    # Zero from the first shell on where lambda is zero.
    outer = None
    if last == len(t) - 1:
        outer = float(np.clip(slopes[-1], -STEEPEST_WEIGHT, base.power_in_t + t[stop]))
    return Weighted(base, tuple(t[places].tolist()), tuple(chosen.tolist()), inner, outer)
