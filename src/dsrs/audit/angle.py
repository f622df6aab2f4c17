"""The cosine between uniform noise and a direction, in balls (docs/math.md 3).

(1 + c)/2 ~ Beta((d-1)/2, (d-1)/2), so c^2 ~ Beta(1/2, (d-1)/2), and c has the density
(1 - c^2)^((d-3)/2) / B(1/2, (d-1)/2) on (-1, 1).
"""

from __future__ import annotations

import functools

from dsrs.audit.balls import Ball, acb, arb, around, between

NEGLIGIBLE = 1e-40  # about the share of directions beyond `far`
FEW_DIMENSIONS = (
    16  # dimensions up to which Pr[cosine > c] is a sum of so many terms, and quickly computed
)


class Angle:
    """The law of the cosine in d dimensions."""

    def __init__(self, d: int) -> None:
        self.half, self.rest = arb(1) / 2, arb(d - 1) / 2
        self.exponent = arb(d - 3) / 2
        self.flat = d >= 3  # the density is largest at 0
        self.top = _top(d)
        self.even = d % 2 == 0
        # By parts, n = (d - 3)/2: Pr falls by top c (1 - c^2)^n / (2n + 1) from d - 2 to d.
        first = 4 if self.even else 5
        self.terms = (
            [_top(e) / (e - 2) for e in range(first, d + 1, 2)] if d <= FEW_DIMENSIONS else None
        )
        # Beyond `far` the density falls: Pr[c > far] is at most its length times its height there.
        far = (1 - arb(NEGLIGIBLE) ** (1 / self.rest)).sqrt().mid()
        self.far, self.left_out = arb(1), arb(0)
        if far < 0.999:
            log = self.exponent * (1 - far * far).log()
            self.far, self.left_out = far, ((1 - far) * self.top * log.exp()).upper()

    def above(self, c: arb) -> arb:
        """Pr[cosine > c], for all members of c."""
        low, high = c.lower(), c.upper()
        if low >= self.far:
            return between(arb(0), self.left_out)
        if high <= -self.far:
            return between(1 - self.left_out, arb(1))
        radius = c.rad()
        if radius < 1e-15:
            if self.terms is not None and low > -1 and high < 1:
                return self._sum(c, self.terms)
            if self.flat:
                return around(self._above(c.mid()), radius * self.top)
        # It falls with c.
        return between(self._above(low), self._above(high))

    def share_above(self, c: Ball, square: Ball | None = None) -> tuple[Ball, arb] | None:
        """Pr[cosine > c] on a ball. On a box, the analytic function that is Pr[cosine > c] on its
        real part but for an error; and the error. None where no such function is shown.

        Args:
            c: the ball or box.
            square: 1 - c^2 on the same box, where it is known better than from c.
        """
        if isinstance(c, arb):
            return self.above(c), arb(0)
        real = c.real
        assert isinstance(real, arb)
        if real.lower() >= self.far:
            return acb(0), self.left_out
        if real.upper() <= -self.far:
            return acb(1), self.left_out
        if square is None:
            square = 1 - c * c
        if square.real < 0 and (real > 0 or real < 0):
            return acb(0) if real > 0 else acb(1), arb(0)  # beyond 1 or -1 on the real panel
        if not square.real > 0:
            return None
        middle = real.mid()
        # By the mean value theorem, with the largest density on the box.
        log = square.abs_upper().log() if self.flat else square.abs_lower().log()
        density = self.top * (self.exponent * log).exp()
        return around(acb(self._above(middle)), (c - middle).abs_upper() * density), arb(0)

    def _above(self, c: arb) -> arb:
        """Pr[cosine > c] for an exact number."""
        if c >= 1:
            return arb(0)
        if c <= -1:
            return arb(1)
        if self.terms is not None:
            return self._sum(c, self.terms)
        if c * c <= 0.5:
            middle = (c * c).beta_lower(self.half, self.rest, 1) / 2
            return self.half - middle if c >= 0 else self.half + middle
        # The same function from its other end, where its series converges.
        beyond = (1 - c * c).beta_lower(self.rest, self.half, 1) / 2
        return beyond if c > 0 else 1 - beyond

    def _sum(self, c: arb, terms: list[arb]) -> arb:
        """Pr[cosine > c] in few dimensions, for members of c between -1 and 1: on a circle the
        angle is uniform, on a sphere the cosine is, and every further two dimensions add a term."""
        square = (1 - c) * (1 + c)
        total = arb(0)
        for term in reversed(terms):
            total = (total + term) * square
        if self.even:
            return c.acos() / arb.pi() - (c * total / square.sqrt() if terms else 0)
        return (1 - c) / 2 - c * total


def _top(d: int) -> arb:
    """The density of the cosine at 0: 1 / B(1/2, (d - 1)/2)."""
    half, rest = arb(1) / 2, arb(d - 1) / 2
    return ((half + rest).lgamma() - half.lgamma() - rest.lgamma()).exp()


@functools.lru_cache(maxsize=64)
def angle_of(d: int, precision: int) -> Angle:
    """The law in d dimensions, made once for each precision."""
    return Angle(d)
