"""The nearest perturbation beyond a plane, anywhere or within the box of images."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

HALVINGS = 60


class Room:
    """Where perturbed inputs may lie: all of R^d, or the box of the data's bounds.

    A certificate covers all of R^d; a perturbed image that must be an image is a smaller target.
    """

    def __init__(self, x: NDArray[np.float32], bounds: tuple[float, float] | None) -> None:
        self._box: tuple[Floats, Floats] | None = None
        if bounds is not None:
            flat = x.ravel().astype(np.float64)
            self._box = bounds[0] - flat, bounds[1] - flat

    def beyond(self, normal: Floats, depth: float) -> Floats:
        """The shortest delta with <normal, delta> >= depth, for a unit normal and depth >= 0.

        In R^d it is depth times the normal. In a box it is the normal stretched by some factor and
        clipped (the Karush-Kuhn-Tucker conditions of this projection say so), and <normal, delta>
        grows with the factor. Where the box ends before the plane, it is the corner that the normal
        points to.
        """
        if self._box is None:
            return depth * normal
        low, high = 0.0, max(depth, 1e-9)
        while self._depth(normal, high) < depth:
            if not self._depth(normal, 2 * high) > self._depth(normal, high):
                return np.clip(high * normal, *self._box)
            high *= 2
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if self._depth(normal, middle) < depth:
                low = middle
            else:
                high = middle
        return np.clip(high * normal, *self._box)

    def _depth(self, normal: Floats, factor: float) -> float:
        assert self._box is not None
        return float(normal @ np.clip(factor * normal, *self._box))
