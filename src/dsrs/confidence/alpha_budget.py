"""The union bound as a ledger: which bound has which share of the failure probability."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from dsrs.errors import AlphaOverspent, InvalidInput

# A share such as alpha / 7 may round up; an excess up to this part of alpha counts as rounding.
_ROUNDING = Fraction(1, 2**48)


class Share(NamedTuple):
    """One bound's part of alpha."""

    purpose: str
    alpha: float


@dataclass
class AlphaBudget:
    """A total failure probability `alpha`, spent in shares.

    By the union bound all statements that were paid from one budget hold together except with
    probability at most `alpha`. The sums are exact (fractions of the floats), so the granted
    shares never add up to more than alpha, not even by a rounding error.
    """

    alpha: float
    shares: list[Share] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise InvalidInput(f"`alpha` must be in (0, 1), got {self.alpha!r}")

    def spend(self, share: float, purpose: str) -> float:
        """Take `share` for `purpose`; use the returned number as that bound's alpha.

        The number returned is `share`, or a hair less when only rounding makes the last share
        exceed what is left (seven times alpha / 7, say). A real excess raises `AlphaOverspent`.
        """
        if not (math.isfinite(share) and share > 0):
            raise InvalidInput(f"`share` of {purpose!r} must be a positive number, got {share!r}")
        left = self._left()
        granted = share
        if Fraction(share) > left:
            if Fraction(share) - left > _ROUNDING * Fraction(self.alpha) or not _floor(left):
                raise AlphaOverspent(
                    f"{purpose!r} asks for {share!r}, but only {float(left):.6g} of "
                    f"alpha = {self.alpha!r} is left; already spent:\n{self.describe()}"
                )
            granted = _floor(left)
        self.shares.append(Share(purpose, granted))
        return granted

    @property
    def remaining(self) -> float:
        """What can still be spent, rounded down."""
        return _floor(self._left())

    def describe(self) -> str:
        """Return the ledger as text, one line per share."""
        lines = [f"  {share.alpha:<12.6g} {share.purpose}" for share in self.shares]
        return "\n".join([*lines, f"  {self.remaining:<12.6g} not spent"])

    def _left(self) -> Fraction:
        return Fraction(self.alpha) - sum((Fraction(s.alpha) for s in self.shares), Fraction())


def _floor(value: Fraction) -> float:
    nearest = float(value)
    return math.nextafter(nearest, -math.inf) if Fraction(nearest) > value else nearest
