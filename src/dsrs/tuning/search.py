"""Which law P for a model: every law on a grid, every method, from one landscape.

Coarse to fine. Methods with a quick forecast are forecast for every law of a grid over sigma and
the shape m, with sigma refined around the best of every shape; the others, which need a search for
each input, for the leading laws. P must be one law for all inputs and is chosen here, so report on
other inputs than these: the choice makes its own inputs look better than they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.confidence import Resampling, interval, resampled_means
from dsrs.errors import InvalidInput
from dsrs.landscape import Profile, limit_and_norm
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import METHODS, NEYMAN_PEARSON, Plan, entry_of


@dataclass(frozen=True, slots=True)
class Objective:
    """What `dsrs tune` maximises: `acr`, or `accuracy@R` where `radius` is R."""

    radius: float | None = None

    @classmethod
    def parse(cls, text: str) -> Objective:
        """Read `acr` or `accuracy@1.5`."""
        if text == "acr":
            return cls()
        name, _, value = text.partition("@")
        try:
            radius = float(value)
        except ValueError:
            radius = math.nan
        if name != "accuracy" or not 0 <= radius < math.inf:
            raise InvalidInput(f"`objective` must be acr or accuracy@RADIUS, got {text!r}")
        return cls(radius)

    @property
    def text(self) -> str:
        """Return the objective as the text that `parse` reads."""
        return "acr" if self.radius is None else f"accuracy@{self.radius!r}"

    def by_input(self, radii: Floats) -> Floats:
        """What each input contributes to the mean; one that is not certified contributes 0."""
        if self.radius is None:
            return radii
        return ((radii >= self.radius) & (radii > 0)).astype(np.float64)

    def of(self, radii: Floats) -> float:
        """Return the value of the objective for these radii."""
        return float(self.by_input(radii).mean())


# ---- The search

Floats = NDArray[np.float64]

SHAPES = (4.0, 8.0, 16.0, 48.0)  # and d/2, the Gaussian
COARSE_SIGMAS, FINE_SIGMAS = 9, 7
# sigma from the 10% to the 90% quantile of the best sizes of single inputs, and beyond.
SIGMA_RANGE_FACTOR = 1.5
# Laws for which methods that search are forecast.
LEADERS = 3
LEAST_IMPROVEMENT = 2e-3
# Share of what some law certifies beside one class, which a law must certify beside one class.
LEAST_KEPT_SHARE = 0.5
CURVE_POINTS = 101


@dataclass(frozen=True, slots=True)
class Forecast:
    """What one law with one method is expected to certify on the inputs of the landscape.

    `radii` holds one radius an input. `low` and `high` are the ends of the bootstrap interval of
    the objective's value over inputs.
    """

    law: GeneralizedGaussian
    method: str
    radii: Floats
    value: float
    low: float
    high: float

    def to_dict(self, curve_radii: Floats) -> dict[str, Any]:
        """For JSON: the law, the value with its interval, and the certified accuracy curve."""
        accuracy = np.mean(self.radii[:, None] >= np.maximum(curve_radii, 1e-300), axis=0)
        return {
            "law": {"sigma": self.law.sigma, "k": self.law.k, "eta": self.law.eta},
            "method": self.method,
            "value": self.value,
            "interval": [self.low, self.high],
            "acr": float(self.radii.mean()),
            "certified_accuracy": accuracy.tolist(),
        }


@dataclass(frozen=True, slots=True)
class Tuned:
    """The answer of `tune`: all forecasts, best first, and what they are to be compared with."""

    d: int
    n: int
    alpha: float
    objective: Objective
    candidates: tuple[Forecast, ...]
    current: tuple[Forecast, ...]  # the choice so far with every method, best first
    limits: Floats  # of each input: what no isotropic law exceeds
    one_class: int = 0  # laws left out, under which the model gives nearly all inputs one class

    @property
    def best(self) -> Forecast:
        return self.candidates[0]

    def without(self, law: GeneralizedGaussian | None) -> Tuned:
        """The answer without one law of the grid, whose neighbours promise nearly as much.

        Votes that chose a law must not certify it: leave out the law of a run whose own votes the
        profiles are made of.
        """
        others = tuple(one for one in self.candidates if one.law != law)
        return replace(self, candidates=others)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `law` (sigma, k, eta) and `method` are the best choice."""
        top = max(float(self.limits.max()), *(float(c.radii.max()) for c in self.candidates))
        radii = np.linspace(0, 1.05 * top, CURVE_POINTS)
        best = self.best.to_dict(radii)
        return {
            "law": best["law"],
            "method": best["method"],
            "predicted": best,
            "current": [each.to_dict(radii) for each in self.current],
            "candidates": [each.to_dict(radii) for each in self.candidates],
            "limit": self._at_most(self.limits, radii),
            "radii": radii.tolist(),
            "objective": self.objective.text,
            "inputs": len(self.limits),
            "one_class": self.one_class,
            "d": self.d,
            "n": self.n,
            "alpha": self.alpha,
        }

    def _at_most(self, largest: Floats, curve_radii: Floats) -> dict[str, Any]:
        """For JSON: the value and the curve of the largest radius of each input."""
        accuracy = np.mean(largest[:, None] >= np.maximum(curve_radii, 1e-300), axis=0)
        return {"value": self.objective.of(largest), "certified_accuracy": accuracy.tolist()}


def tune(
    profiles: Sequence[Profile],
    d: int,
    n: int,
    alpha: float,
    objective: str = "acr",
    *,
    methods: Sequence[str] | None = None,
    current: GeneralizedGaussian | None = None,
    etas: Sequence[float] = (2.0,),
    classes: Sequence[int] | None = None,
) -> Tuned:
    """The laws of a grid, each with its best method, best first.

    Args:
        profiles: the landscape of each input.
        d: the number of values of an input.
        n: votes that an input will have.
        alpha: failure probability of a certificate.
        objective: `acr` (average certified radius) or `accuracy@R` (certified accuracy at R).
        methods: as plans write them; by default all that are registered. Those without a forecast
            are left out.
        current: the law in use, forecast beside the others with every method.
        etas: exponents eta of the laws to try.
        classes: the class of each input, so that laws are left out under which the model tells no
            classes apart.
    """
    if methods is None:
        methods = [text for entry in METHODS.values() for text in entry.tuned or (entry.name,)]
    if not profiles:
        raise InvalidInput("tuning needs the profile of at least one input")
    if not methods:
        raise InvalidInput("tuning needs at least one method")
    work = _Work(profiles, n, alpha, Objective.parse(objective), classes)
    found = [limit_and_norm(profile, d, n, alpha) for profile in profiles]
    limits = np.array([limit for limit, _ in found])
    sigmas = _coarse_sigmas(limits, np.array([norm for _, norm in found]) / np.sqrt(d))
    quick = [method for method in methods if entry_of(method).load().quick_forecast]
    slow = [method for method in methods if method not in quick]
    for eta in etas:
        for shape in shapes(d, eta):
            for method in quick or slow[:1]:
                work.scan(partial(_law, d, shape, eta), sigmas, method)
    for forecast in work.best_by_law()[:LEADERS]:
        for method in slow:
            work.forecast(forecast.law, method)
    laws_tried = work.best_by_law()
    if not laws_tried:
        raise InvalidInput(f"there is no forecast for the methods {', '.join(methods)}")
    candidates = [each for each in laws_tried if work.tells_apart(each)]
    left_out = len(laws_tried) - len(candidates)
    laws = () if current is None else (current,)
    now = [forecast for method in methods for forecast in work.forecasts(laws, method)]
    now.sort(key=work.rank, reverse=True)
    return Tuned(d, n, alpha, work.objective, tuple(candidates), tuple(now), limits, left_out)


class _Work:
    """Makes forecasts on the inputs of one landscape, each of them once."""

    def __init__(
        self,
        profiles: Sequence[Profile],
        n: int,
        alpha: float,
        objective: Objective,
        classes: Sequence[int] | None,
    ) -> None:
        self.profiles, self.n, self.alpha, self.objective = profiles, n, alpha, objective
        self.classes = None if classes is None else np.asarray(classes)
        self.most_beside_one_class = 0
        self.made: dict[tuple[GeneralizedGaussian, str], Forecast] = {}

    def scan(
        self, law_of: Callable[[float], GeneralizedGaussian], sigmas: Floats, method: str
    ) -> None:
        """Forecast the laws of these sigmas, and of some around the best one."""
        coarse = self.forecasts(map(law_of, sigmas), method)
        if coarse:
            best, step = max(coarse, key=self.rank).law.sigma, float(sigmas[1] / sigmas[0])
            self.forecasts(
                map(law_of, best * np.geomspace(1 / step, step, FINE_SIGMAS)[1:-1]), method
            )

    def forecasts(self, laws: Iterable[GeneralizedGaussian], method: str) -> list[Forecast]:
        """What the method is expected to certify under each law; nothing if it has no forecast."""
        made = (self.forecast(law, method) for law in laws)
        return [forecast for forecast in made if forecast is not None]

    def forecast(self, law: GeneralizedGaussian, method: str) -> Forecast | None:
        if (law, method) not in self.made:
            plan = Plan(law, (method,), n=self.n, alpha=self.alpha)
            radii = entry_of(method).load()(plan, method).forecast(self.profiles)
            if radii is None:
                return None
            each = self.objective.by_input(radii)
            resampling = Resampling()
            low, high = interval(resampled_means(each[:, None], resampling), resampling.confidence)
            made = Forecast(law, method, radii, float(each.mean()), float(low[0]), float(high[0]))
            self.most_beside_one_class = max(
                self.most_beside_one_class, self._beside_one_class(made)
            )
            self.made[law, method] = made
        return self.made[law, method]

    def tells_apart(self, forecast: Forecast) -> bool:
        """Whether the model still tells classes apart under this law; True if they are not known.

        Under very large noise most models give one class to everything. Inputs of that class then
        have large radii, and the average radius grows with the noise although nothing is told
        apart. So count what a law certifies beside the class of which it certifies most: it must be
        LEAST_KEPT_SHARE of the most that any law has.
        """
        least = LEAST_KEPT_SHARE * self.most_beside_one_class
        return self._beside_one_class(forecast) >= least

    def _beside_one_class(self, forecast: Forecast) -> int:
        """How many inputs are certified that are not of the class with most of them."""
        if self.classes is None:
            return 0
        certified = self.classes[forecast.radii > 0]
        return len(certified) - int(np.bincount(certified).max(initial=0))

    def rank(self, forecast: Forecast) -> tuple[bool, float, float]:
        """Return the key to rank by: classes told apart, the objective, the average radius."""
        return self.tells_apart(forecast), forecast.value, float(forecast.radii.mean())

    def best_by_law(self) -> list[Forecast]:
        """The best method of every law, best first."""
        best: dict[GeneralizedGaussian, Forecast] = {}
        for forecast in sorted(self.made.values(), key=lambda each: each.method != NEYMAN_PEARSON):
            known = best.get(forecast.law)
            # Neyman-Pearson needs no pilot and no second law: it wins what is nearly a draw.
            if known is None or forecast.value > known.value * (1 + LEAST_IMPROVEMENT):
                best[forecast.law] = forecast
        return sorted(best.values(), key=self.rank, reverse=True)


def shapes(d: int, eta: float) -> list[float]:
    """The shapes m of the grid: from wide laws to k = 0, that of the Gaussian for eta = 2."""
    widest = GeneralizedGaussian(d, 1.0, eta=eta).m
    return [*(shape for shape in SHAPES if shape < 0.75 * widest), widest]


def _law(d: int, shape: float, eta: float, sigma: float) -> GeneralizedGaussian:
    # Three digits are enough for a choice, and pleasant to type.
    return GeneralizedGaussian(d, float(f"{sigma:.3g}"), max(0.5 * (d - eta * shape), 0.0), eta)


def _coarse_sigmas(limits: Floats, sizes: Floats) -> Floats:
    """Return the sigmas that single inputs would choose, with a margin at both ends."""
    useful = sizes[limits > 0] if np.any(limits > 0) else sizes
    low, high = np.quantile(useful, [0.1, 0.9])
    return np.geomspace(low / SIGMA_RANGE_FACTOR, high * SIGMA_RANGE_FACTOR, COARSE_SIGMAS)
