"""What a law is tuned for: the average certified radius, or the certified accuracy at a radius."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import InvalidInput

Floats = NDArray[np.float64]


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
