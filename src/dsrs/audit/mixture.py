"""The mixture g = sum of l_i q_i: its terms on each shell, its support, and its mass beyond a
shell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from dsrs.audit.balls import arb, exact, greater, lesser
from dsrs.audit.curve import Term
from dsrs.audit.limits import tick
from dsrs.audit.shells import Shells
from dsrs.audit.verdicts import Undecided
from dsrs.audit.weights import Law, ends_of, smoothing_law, tail_of

MIXTURE_DEPTH = (
    48.0  # shells with less than e^-MIXTURE_DEPTH of density are left to the bounds of tails
)


@dataclass(frozen=True, slots=True)
class Mixture:
    """The function g = sum of l_i q_i of multipliers and laws, on the shells of P."""

    shells: Shells
    multipliers: tuple[float, ...]
    laws: tuple[Law, ...]

    def terms_at(self, u: arb) -> list[Term]:
        """The terms with finite multipliers on a shell between edges."""
        tick()
        return [
            Term(exact(value), piece)
            for value, law in zip(self.multipliers, self.laws, strict=True)
            for piece in law.pieces
            if value != 0 and math.isfinite(value) and piece.covers(u)
        ]

    def is_infinite_at(self, u: arb) -> bool:
        """Whether a law with an infinite multiplier is there."""
        return any(
            value == math.inf and piece.covers(u)
            for value, law in zip(self.multipliers, self.laws, strict=True)
            for piece in law.pieces
        )

    def edges(self) -> dict[str, arb]:
        """The shells where a law with a multiplier begins or ends, by name."""
        return {
            edge.name: edge.u
            for value, law in zip(self.multipliers, self.laws, strict=True)
            for piece in law.pieces
            for edge in (piece.start, piece.stop)
            if value != 0 and edge is not None
        }

    def intervals(self, low: arb, high: arb) -> Iterator[tuple[arb, arb]]:
        """Between `low` and `high`, cut where a law begins or ends."""
        edges = [u for u in self.edges().values() if not (u <= low or u >= high)]
        ends = [low, *sorted(edges, key=float), high]
        for a, b in pairwise(ends):
            middle = ((a + b) / 2).mid()
            if not (a < middle and middle < b):
                raise Undecided("two laws begin or end on shells too close to tell apart")
            yield a, b

    def covered(self, rho: arb) -> tuple[arb, arb]:
        """Return a range of shells beyond which neither P shifted by rho nor a negative term
        matters."""
        shells = self.shells
        low, high = ends_of(smoothing_law().pieces[0], shells, MIXTURE_DEPTH)
        norm = (2 * shells.half_square(high)).sqrt() + rho
        most, top = shells.shell_of(norm * norm / 2), low
        for value, law in zip(self.multipliers, self.laws, strict=True):
            for piece in law.pieces:
                if value == 0:
                    continue
                start, stop = ends_of(piece, shells, MIXTURE_DEPTH, min(abs(value), 1e300))
                if value < 0:
                    low, most = lesser(low, start), greater(most, stop)
                top = greater(top, stop)
        # A little further, so that edges lie inside.
        wide = arb(2) ** -20
        return (low - wide).mid(), (lesser(most, top) + wide).mid()

    def mass_below(self, low: arb, sign: int) -> arb:
        """An upper bound of the mass of |g| below a shell, over the terms of one sign."""
        return self._beyond(low, sign, above=False)

    def mass_above(self, high: arb, sign: int) -> arb:
        """An upper bound of the mass of |g| above a shell, over the terms of one sign."""
        return self._beyond(high, sign, above=True)

    def _beyond(self, u: arb, sign: int, *, above: bool) -> arb:
        total = arb(0)
        for value, law in zip(self.multipliers, self.laws, strict=True):
            for piece in law.pieces:
                edge = piece.stop if above else piece.start
                within = edge is not None and (edge.u <= u if above else edge.u >= u)
                if value * sign > 0 and not within:
                    beyond = tail_of(piece, self.shells, u, above=above)
                    total += beyond * exact(abs(value)) if math.isfinite(value) else arb.pos_inf()
        return total.upper()
