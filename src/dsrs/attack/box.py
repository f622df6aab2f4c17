"""The nearest perturbation beyond a plane, in a norm, anywhere or within the box of images."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsrs.laws import Norm, norm_of

Floats = NDArray[np.float64]

BOX_HALVINGS = 60


class Room:
    """Where perturbed inputs may lie: all of R^d, or the box of the data's bounds.

    A certificate covers all of R^d; a perturbed image that must be an image is a smaller target.
    Distances are measured in `norm`.
    """

    def __init__(
        self, x: NDArray[np.float32], bounds: tuple[float, float] | None, norm: Norm = "l2"
    ) -> None:
        self._norm = norm
        self._box: tuple[Floats, Floats] | None = None
        if bounds is not None:
            flat = x.ravel().astype(np.float64)
            self._box = bounds[0] - flat, bounds[1] - flat

    def beyond(self, normal: Floats, depth: float) -> Floats:
        """The shortest delta with <normal, delta> >= depth, for a unit normal and depth >= 0.

        It is a point of the path `_stretched`, on which <normal, delta> grows. Where the box ends
        before the plane, it is the corner that the normal points to.
        """
        if self._box is None:
            return self._stretched(normal, depth / float(normal @ self._stretched(normal, 1.0)))
        low, high = 0.0, max(depth, 1e-9)
        while self._depth(normal, high) < depth:
            if not self._depth(normal, 2 * high) > self._depth(normal, high):
                return self._stretched(normal, high)
            high *= 2
        for _ in range(BOX_HALVINGS):
            middle = 0.5 * (low + high)
            if self._depth(normal, middle) < depth:
                low = middle
            else:
                high = middle
        return self._stretched(normal, high)

    def within(self, normal: Floats, length: float) -> Floats:
        """Return the delta of at most `length` that goes farthest along the normal."""
        low, high = 0.0, length
        while norm_of(self._stretched(normal, high), self._norm) < length:
            if not self._depth(normal, 2 * high) > self._depth(normal, high):
                return self._stretched(normal, high)  # the corner of the box
            high *= 2
        if norm_of(self._stretched(normal, high), self._norm) <= length:
            return self._stretched(normal, high)
        for _ in range(BOX_HALVINGS):
            middle = 0.5 * (low + high)
            if norm_of(self._stretched(normal, middle), self._norm) <= length:
                low = middle
            else:
                high = middle
        return self._stretched(normal, low)

    def _stretched(self, normal: Floats, factor: float) -> Floats:
        """The path of points that are deepest along the normal for their length.

        l2: the normal times the factor, clipped to the box. l-infinity: all coordinates move by the
        factor, clipped. l1: the coordinates where the normal is largest move to the end of the box
        one after the other until the factor is used up. (The Karush-Kuhn-Tucker conditions of the
        nearest point of a plane say so.)
        """
        if self._norm == "l1":
            return self._one_by_one(normal, factor)
        ray = factor * (normal if self._norm == "l2" else np.sign(normal))
        return ray if self._box is None else np.clip(ray, *self._box)

    def _one_by_one(self, normal: Floats, length: float) -> Floats:
        delta = np.zeros(normal.size)
        if self._box is None:
            place = int(np.abs(normal).argmax())
            delta[place] = length * np.sign(normal[place])
            return delta
        order = np.argsort(-np.abs(normal), kind="stable")
        free = np.where(normal > 0, self._box[1], -self._box[0])[order]
        free = np.where(normal[order] == 0, 0.0, np.maximum(free, 0.0))
        used = np.cumsum(free) - free
        delta[order] = np.sign(normal[order]) * np.clip(length - used, 0.0, free)
        return delta

    def _depth(self, normal: Floats, factor: float) -> float:
        return float(normal @ self._stretched(normal, factor))
