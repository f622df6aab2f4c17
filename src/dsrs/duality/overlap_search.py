"""Radius and multipliers in the l1 and l-infinity norms; only `error_bound` is trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import optimize

from dsrs.duality.overlap import SEARCH, Floats, Rule, Shifted, error_bound
from dsrs.laws import AdditionalLaw, GeneralizedGaussian

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
