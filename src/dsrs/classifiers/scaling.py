"""Tabular data: a unit for each feature, so that one sigma, one grid and one radius fit them all.

Feature j is seen as x'_j = (x_j - lower_j) / unit_j. Law, grid, proof and radius live in these
scaled units; the classifier that is certified is x' -> model(lower + unit x'). So noise of sigma in
scaled units is noise of sigma unit_j in feature j, the grid has step h unit_j there, and a radius r
says: the answer holds for every change delta with

    sum_j (delta_j / unit_j)^2 <= r^2,

in particular if feature j alone changes by at most r unit_j. The units are a part of the model: of
its fingerprint, of its description and of the run.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.errors import DataError, InvalidInput

SHOWN_FEATURES = 3  # features in a line for people
# A grid of 4080 steps between 0 and 255 2^i has whole numbers on it.
BYTE_LEVELS = 255
# Decimals that are looked for in the values of a feature.
MOST_DECIMALS = 6
LARGEST_DECIMAL_ERROR = 0.05  # of a decimal step: a number farther off does not stand for it
SCALING_KINDS = ("range", "std", "resolution")


@dataclass(frozen=True)
class Scaling:
    """The unit of each feature, and the least and greatest value that it has in clean inputs.

    Attributes:
        lower: the least value of each feature, in its own units.
        upper: the greatest value of each feature.
        unit: what each feature is divided by.
        names: the names of the features; empty if they have none.
        kind: where the units come from: range, std, resolution, or given.
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    unit: tuple[float, ...]
    names: tuple[str, ...] = ()
    kind: str = "given"

    def __post_init__(self) -> None:
        sizes = {
            len(self.lower),
            len(self.upper),
            len(self.unit),
            len(self.names) or len(self.unit),
        }
        if len(sizes) != 1 or not self.unit:
            raise InvalidInput(
                f"a scaling has a lower bound, an upper bound and a unit for each feature, got "
                f"{len(self.lower)}, {len(self.upper)} and {len(self.unit)}"
                + (f" for {len(self.names)} names" if self.names else "")
            )
        rows = zip(self.lower, self.upper, self.unit, strict=True)
        for number, (low, high, unit) in enumerate(rows):
            if not (all(map(math.isfinite, (low, high, unit))) and low <= high and unit > 0):
                raise InvalidInput(
                    f"{self.name_of(number)} must have a positive unit and lower <= upper, got "
                    f"unit {unit:g}, lower {low:g}, upper {high:g}"
                )

    @classmethod
    def of_data(
        cls,
        rows: ArrayLike,
        kind: str | Sequence[float] = "range",
        *,
        names: Sequence[str] = (),
    ) -> Scaling:
        """The scaling of these rows of features, in their own units.

        Args:
            rows: an array (n, features).
            kind: "range" divides each feature by its greatest value less its least; "std" by its
                standard deviation; "resolution" by the power of ten that all its values are whole
                multiples of (a year, a cent), so that they lie on the grid; or the units
                themselves, one for each feature. A feature that never changes has unit 1.
            names: the names of the features.
        """
        rounding, values = _rounding(rows), np.asarray(rows, dtype=np.float64)
        if values.ndim != 2 or not np.isfinite(values).all():
            raise DataError(
                "a scaling takes finite numbers, one row of features for each input, got shape "
                f"{values.shape}"
            )
        lower, upper = values.min(axis=0), values.max(axis=0)
        if not isinstance(kind, str):
            units, kind = np.asarray(kind, dtype=np.float64), "given"
        elif kind == "range":
            units = upper - lower
        elif kind == "std":
            units = values.std(axis=0)
        elif kind == "resolution":
            units = np.array([_resolution(column, rounding) for column in values.T])
        else:
            raise InvalidInput(f"a scaling is one of {', '.join(SCALING_KINDS)}, got {kind!r}")
        if kind != "given":
            units = np.where((units > 0) & (upper > lower), units, 1.0)
        return cls(_floats(lower), _floats(upper), _floats(units), tuple(names), kind)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest scaled value of a clean input.

        With units of the resolution the upper one is 255 2^i, for which whole numbers are on the
        default grid.
        """
        widest = float(np.max(np.subtract(self.upper, self.lower) / np.asarray(self.unit)))
        if self.kind == "resolution":
            return 0.0, BYTE_LEVELS * 2.0 ** max(0, math.ceil(math.log2(widest / BYTE_LEVELS)))
        return 0.0, widest or 1.0

    @property
    def own_bounds(self) -> tuple[float, float]:
        """The least and the greatest value of all features, in their own units."""
        least, greatest = min(self.lower), max(self.upper)
        return (least, greatest) if least < greatest else (least, least + 1.0)

    def name_of(self, number: int) -> str:
        """Return what messages call a feature."""
        return f"feature {self.names[number]!r}" if self.names else f"feature {number}"

    def to_scaled(self, rows: ArrayLike, source: str = "the data") -> NDArray[np.float64]:
        """Rows (n, features), or one row, in scaled units; DataError where one is out of bounds."""
        rounding, values = _rounding(rows), np.asarray(rows, dtype=np.float64)
        if values.ndim not in (1, 2) or values.shape[-1] != len(self.unit):
            raise DataError(
                f"{source}: expected rows of {len(self.unit)} features, got shape {values.shape}"
            )
        # Decimals are rounded in binary, so that a value may be so much past its bound.
        slack = rounding * np.maximum(np.abs(self.lower), np.abs(self.upper))
        table = np.atleast_2d(values)
        outside = ~((table >= self.lower - slack) & (table <= self.upper + slack))
        if outside.any():
            row, feature = (int(each) for each in np.argwhere(outside)[0])
            raise DataError(
                f"{source}: {self.name_of(feature)} must be in [{self.lower[feature]:g}, "
                f"{self.upper[feature]:g}], got {table[row, feature]:g} in input {row}; widen the "
                "bounds of its scaling"
            )
        scaled_values: NDArray[np.float64] = np.clip(
            (values - np.asarray(self.lower)) / np.asarray(self.unit), *self.bounds
        )
        if self.kind != "resolution":
            return scaled_values
        # A number so near to a whole number of steps stands for that.
        whole = np.rint(scaled_values)
        return np.where(np.abs(scaled_values - whole) * self.unit <= slack, whole, scaled_values)

    def to_own(self, scaled: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Scaled rows in the units of each feature, as a model takes them."""
        own: NDArray[np.float64] = np.asarray(self.lower) + np.asarray(self.unit) * scaled
        return own.astype(np.float32)

    @property
    def text(self) -> str:
        """Return a line that says what a radius of 1 is in the first features."""
        what = {"range": "range", "std": "standard deviation", "resolution": "resolution"}
        title = f"each feature in units of its {what[self.kind]}" if self.kind in what else "units"
        few = [
            f"{self._short(number)} {unit:.4g}"
            for number, unit in enumerate(self.unit[:SHOWN_FEATURES])
        ]
        more = len(self.unit) - SHOWN_FEATURES
        return f"{title}: {', '.join(few)}" + (f" and {more} more" if more > 0 else "")

    def _short(self, number: int) -> str:
        return self.names[number] if self.names else f"feature {number}"

    @property
    def fingerprint(self) -> str:
        """A hash of what scaled units are: where each feature begins, and its unit."""
        values = np.array([self.lower, self.unit], dtype="<f8")
        return hashlib.sha256(values.tobytes()).hexdigest()[:32]

    def to_dict(self) -> dict[str, Any]:
        """Return the scaling as JSON, without loss."""
        rows = zip(self.lower, self.upper, self.unit, strict=True)
        features = [
            {"lower": low, "upper": high, "unit": unit}
            | ({"name": self.names[number]} if self.names else {})
            for number, (low, high, unit) in enumerate(rows)
        ]
        return {"kind": self.kind, "features": features}

    @classmethod
    def from_dict(cls, fields: Any, source: str = "a scaling") -> Scaling:
        """The scaling that `to_dict` was made from, or InvalidInput."""
        features = fields.get("features") if isinstance(fields, Mapping) else None
        if not isinstance(features, list) or not all(isinstance(each, dict) for each in features):
            raise InvalidInput(
                f'{source}: expected {{"features": [{{"lower": 0, "upper": 9, "unit": 1}}, ...]}}'
            )
        try:
            lower, upper, unit = (
                _floats(each[key] for each in features) for key in ("lower", "upper", "unit")
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(
                f"{source}: each feature has the numbers `lower`, `upper` and `unit`: {error!r}"
            ) from None
        named = all(isinstance(each.get("name"), str) for each in features)
        names = tuple(each["name"] for each in features) if named else ()
        return cls(lower, upper, unit, names, str(fields.get("kind", "given")))


def _rounding(rows: ArrayLike) -> float:
    """By what share of itself a decimal number may be off in an array of this type."""
    kind = np.asarray(rows).dtype
    return 2 * float(np.finfo(kind if np.issubdtype(kind, np.floating) else np.float64).eps)


def _floats(values: Iterable[Any]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _resolution(column: NDArray[np.float64], rounding: float) -> float:
    """The greatest power of ten up to 1 that all values are whole multiples of."""
    for decimals in range(MOST_DECIMALS + 1):
        steps = (column - column.min()) * 10.0**decimals
        allowed = rounding * float(np.abs(column).max()) * 10.0**decimals
        if allowed > LARGEST_DECIMAL_ERROR:
            break
        if (np.abs(steps - np.rint(steps)) <= allowed).all():
            return float(10.0**-decimals)
    raise InvalidInput(
        f"a feature has values with too many decimals, such as {column[0]:.9g}, so that it has no "
        "resolution to be measured in; scale by range or std"
    )
