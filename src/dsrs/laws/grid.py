"""Inputs and noise on one grid: what is sampled is a function of the real vector x + noise.

Rounding x + noise to float32 tells of the low bits of x, which a proof over the reals knows nothing
of. Here an input is a point of a grid and noise y is rounded to it by floor(y / h + 1/2), so that
both are whole numbers, added exactly and converted once. The classifier that is certified is then
"round to the grid, convert, classify", a function on R^d (docs/grid.md).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import InvalidInput
from dsrs.laws.additional import AdditionalLaw
from dsrs.laws.naming import Rescaled
from dsrs.laws.smoothing import GeneralizedGaussian, real_number, shown

# Steps from one bound of the data to the other: 8-bit images are exact, each level 16 steps.
STEPS_ACROSS_DATA = 255 * 16
# The default step is halved until sigma has this many; a step longer than sigma / 2 is refused.
DEFAULT_STEPS_PER_SIGMA, FEWEST_STEPS_PER_SIGMA = 16, 2
# A default that is chosen when the bounds of the data and the law are known.
DEFAULT_GRID: Literal["default"] = "default"
# What is said of certificates that were made without one.
WITHOUT_GRID = (
    "noise was added in float32, without a grid: certificates do not account for the rounding of "
    "the sum (docs/grid.md)"
)
# Whole numbers up to this are exact, and so are their sums, in double precision.
LARGEST_WHOLE_STEPS = 2.0**50

# Relative errors in units of 2^-53 (docs/grid.md): of one coordinate of Gaussian noise, of a
# direction, and of norms that follow any other law.
UNIT = 2.0**-53
NORMAL_ERROR, DIRECTION_ERROR, NORM_ERROR, NORM_ERROR_BY_SHAPE = 16.0, 24.0, 32.0, 16.0
# Steps of the quantile function under which the mean norm is bounded, and halvings of the last.
MEAN_STEPS, MEAN_HALVINGS = 256, 44
# So many float32 numbers a step tell its two ends apart, whichever of them a number stands for.
NUMBERS_A_STEP = 16


@dataclass(frozen=True, slots=True)
class Grid:
    """The numbers origin + i step, for whole i, in every coordinate."""

    step: float
    origin: float = 0.0

    def __post_init__(self) -> None:
        for name in ("step", "origin"):
            object.__setattr__(self, name, real_number(name, getattr(self, name)))
        if not 1e-12 <= self.step <= 1e12:
            raise InvalidInput(f"the step of a grid must be from 1e-12 to 1e12, got {self.step!r}")
        if abs(self.origin) > LARGEST_WHOLE_STEPS * self.step:
            raise InvalidInput(
                f"the step of a grid is too small beside {self.origin!r}, got {self.step!r}"
            )

    @classmethod
    def of_bounds(cls, bounds: tuple[float, float], law: GeneralizedGaussian | None = None) -> Grid:
        """The default grid for data between `bounds` and noise of `law`.

        4080 steps from bound to bound, halved until a step is at most sigma / 16: 8-bit images are
        exact on every one of these grids.
        """
        lower, upper = bounds
        step = (upper - lower) / STEPS_ACROSS_DATA
        while law is not None and step > law.sigma / DEFAULT_STEPS_PER_SIGMA:
            step /= 2
        return cls(step, lower)

    def refuse_coarse(self, law: GeneralizedGaussian) -> None:
        """Raise InvalidInput if the step is longer than half of the law's sigma.

        Such a certificate would be sound, and worthless: rounding would blur the input more than
        the noise does.
        """
        if self.step > law.sigma / FEWEST_STEPS_PER_SIGMA:
            raise InvalidInput(
                f"the step of the grid, {self.step:g}, must be at most sigma / "
                f"{FEWEST_STEPS_PER_SIGMA} = {law.sigma / FEWEST_STEPS_PER_SIGMA:g}: inputs and "
                "noise are rounded to multiples of it, which would drown noise of this size; use "
                "a smaller step, or the default"
            )

    def cells(self, x: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """The whole numbers of the grid points nearest to x."""
        steps: NDArray[np.float64] = np.floor(
            (np.asarray(x, dtype=np.float64) - self.origin) / self.step + 0.5
        )
        if np.abs(steps).max() > LARGEST_WHOLE_STEPS:
            raise InvalidInput(
                f"the step of the grid, {self.step!r}, is too small for inputs of this size"
            )
        return steps

    def values(self, cells: NDArray[np.float64]) -> NDArray[np.float32]:
        """What the classifier sees of these grid points: the nearest numbers of float32."""
        return (self.origin + cells * self.step).astype(np.float32)

    def distance(self, x: NDArray[np.floating[Any]]) -> float:
        """How far x is from the grid point nearest to its float32 numbers (l2), rounded up.

        0 where x is the grid point as numbers of its own type write it: these stand for the point.
        If float32 is too coarse for the grid, a number could stand for several points, and stands
        for itself.
        """
        given = np.asarray(x).ravel()
        flat, seen = given.astype(np.float64), given.astype(np.float32)
        cells = self.cells(seen)
        points = self.origin + cells * self.step
        single = given.dtype.itemsize <= seen.itemsize
        fine = NUMBERS_A_STEP * float(np.spacing(np.abs(seen).max())) <= self.step
        if np.array_equal(flat, self.values(cells) if single and fine else points):
            return 0.0
        away = np.abs(flat - points)
        # Other points are known to a few roundings of their size.
        away += 2.0**-50 * (np.abs(flat) + abs(self.origin) + np.abs(cells) * self.step)
        return math.nextafter(float(np.sqrt(np.dot(away, away))) * (1 + 1e-9), math.inf)

    def variation(self, law: GeneralizedGaussian | AdditionalLaw) -> float:
        """How much the probability of any event may differ from the ideal one: at most so much.

        Noise in double precision is off by a relative error e in every coordinate. It leaves its
        cell only if a cell's edge lies between it and the ideal noise, which happens with
        probability at most e (4 + 2 E|y_j| / step) in coordinate j (docs/grid.md).
        """
        return _variation(law, self.step)

    @staticmethod
    def carries(law: GeneralizedGaussian | AdditionalLaw) -> bool:
        """Whether `variation` is proved for the law.

        It is in three dimensions and more, and in two where the density falls with the norm.
        """
        return isinstance(law, GeneralizedGaussian) or law.falls or law.base.d >= 3

    def to_dict(self) -> dict[str, float]:
        """Return the grid as JSON, without loss."""
        return {"step": self.step, "origin": self.origin}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any] | None) -> Grid | None:
        """The grid that `to_dict` was made from; None is none."""
        if fields is None:
            return None
        if not isinstance(fields, Mapping) or fields.keys() != {"step", "origin"}:
            raise InvalidInput(f"a grid has a step and an origin, got {shown(fields)}")
        return cls(**fields)

    @property
    def text(self) -> str:
        """Return the step as people write it: `1/4080` where it is one over a whole number."""
        over = round(1 / self.step)
        step = f"1/{over}" if over and 1 / over == self.step else f"{self.step:g}"
        return step if self.origin == 0 else f"{step} from {self.origin:g}"


@functools.lru_cache(maxsize=4096)
def _variation(law: GeneralizedGaussian | AdditionalLaw, step: float) -> float:
    if isinstance(law, Rescaled):
        law = law.law
    base = law if isinstance(law, GeneralizedGaussian) else law.base
    if not Grid.carries(law):
        raise InvalidInput(
            f"noise on a grid in {base.d} dimensions needs a law whose density falls with the "
            f"norm, got {law.describe()}; use another law, or no grid"
        )
    error = NORMAL_ERROR
    if not base.is_gaussian or not isinstance(law, GeneralizedGaussian):
        error = DIRECTION_ERROR + NORM_ERROR + NORM_ERROR_BY_SHAPE / base.m
    # At least the sum of E|y_j|, which is E|y|_1: no vector of norm 1 has a larger l1 norm.
    sum_of_means = math.sqrt(base.d) * _mean_norm(law)
    return min(1.0, error * UNIT * (4 * base.d + 2 * sum_of_means / step))


def _mean_norm(law: GeneralizedGaussian | AdditionalLaw) -> float:
    """The mean norm from above: every step of the quantile function at its upper end.

    Laws of small shape have most of it in the last step, which is halved again and again.
    """
    last = 1 - 0.5 ** np.arange(1, MEAN_HALVINGS + 1) / MEAN_STEPS
    ends = np.concatenate([np.arange(1, MEAN_STEPS) / MEAN_STEPS, last])
    return float(np.diff(ends, prepend=0.0) @ law.radial_quantile(ends))
