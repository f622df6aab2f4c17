"""Additional laws in balls, from their definitions: weights q/p on shells (docs/math.md 1).

On a piece of the shells every law of the package has ln(q/p) = height + slope u - excess m e^u:

- truncated to a share I of the mass: -ln I up to the shell where P's distribution function is I;
- rescaled to beta: with b = (sigma/beta)^eta, m ln b - (b - 1) t;
- weighted: a line in ln t between knots, minus ln of the mean weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dsrs.audit.balls import Ball, arb, centre, exact
from dsrs.audit.limits import Budget, tick
from dsrs.audit.quadrature import Integrand, integral
from dsrs.audit.reading import Fields, field, number, numbers, only, optional_number, shown
from dsrs.audit.shells import Shells
from dsrs.audit.verdicts import Refuted, Undecided


@dataclass(frozen=True, slots=True)
class Edge:
    """A shell where some law begins or ends; two edges with one name are one shell."""

    name: str
    u: arb


@dataclass(frozen=True, slots=True)
class Piece:
    """The weight on the shells from `start` to `stop` (None: no end)."""

    height: arb
    slope: arb
    excess: arb
    start: Edge | None = None
    stop: Edge | None = None

    def log_weight(self, u: Ball, t: Ball, m: arb) -> Ball:
        """Enclose ln(q/p), by Taylor's theorem about the centre, where the second derivative is
        -excess t."""
        c = centre(u)
        middle = self.height + self.slope * c - self.excess * m * c.exp()
        if isinstance(u, arb) and u.is_exact():
            return middle
        away = u - c
        return (
            away * (self.slope - self.excess * m * c.exp())
            + middle
            - (t * away * away * self.excess / 2)
        )

    def covers(self, u: arb) -> bool:
        """Whether a shell well inside some interval between edges lies on this piece."""
        return (self.start is None or bool(u > self.start.u)) and (
            self.stop is None or bool(u < self.stop.u)
        )


@dataclass(frozen=True, slots=True)
class Law:
    """A law as pieces that do not overlap, in order."""

    pieces: tuple[Piece, ...]

    @property
    def full_support(self) -> bool:
        """Whether its density is positive on almost all shells."""
        ends = [None, *(edge.name for piece in self.pieces[1:] if (edge := piece.start)), None]
        starts = [piece.start and piece.start.name for piece in self.pieces]
        stops = [piece.stop and piece.stop.name for piece in self.pieces]
        return len(ends) == len(starts) + 1 and starts == ends[:-1] and stops == ends[1:]


def smoothing_law() -> Law:
    """P itself, as a law with the weight 1."""
    return Law((Piece(arb(0), arb(0), arb(0)),))


def additional_law(fields: Mapping[str, Any], shells: Shells) -> Law:
    """The law of a JSON object, as certificates hold them; Undecided where its kind is unknown."""
    kind = field(fields, "kind", str)
    if kind not in CHECKED_LAWS:
        raise Undecided(f"this check does not know laws of the kind {shown(kind)}")
    return CHECKED_LAWS[kind](fields, shells)


def _truncated(fields: Fields, shells: Shells) -> Law:
    only(fields, ("kind", "percentile"), "a truncated law")
    share = number(fields, "percentile")
    if not 0 < share <= 1:
        raise Refuted(f"a law cannot be truncated to {share!r} of the mass")
    if share == 1:
        return smoothing_law()
    u = _shell_below(shells, exact(share))
    return Law((Piece(-exact(share).log(), arb(0), arb(0), None, Edge(f"share {share!r}", u)),))


def _shell_below(shells: Shells, share: arb) -> arb:
    """The shell below which this share of P lies: Newton's method, then one step with sets."""
    m = shells.m
    low, high = shells.rough_range(
        float(shells.log_top + m), shells.rough_m, shells.rough_m, 40.0 - math.log(float(share))
    )
    for _ in range(60):
        tick()
        u = 0.5 * (low + high)
        if _distribution(shells, arb(u)) < share:
            low = u
        else:
            high = u
    guess = arb(0.5 * (low + high))
    for _ in range(3):
        density = shells.log_density(guess, shells.gamma(guess)).exp()
        guess = (guess - (_distribution(shells, guess) - share) / density).mid()
    wide = guess + arb(0, arb(2) ** -40 / (1 + m.sqrt()))
    density = shells.log_density(wide, shells.gamma(wide)).exp()
    shell = guess - (_distribution(shells, guess) - share) / density
    if not (shell.is_finite() and wide.contains(shell)):
        raise Undecided("the radius of a truncated law cannot be enclosed")
    return shell


def _distribution(shells: Shells, u: arb) -> arb:
    # From above: for large shapes Arb encloses it better.
    return 1 - shells.gamma(u).gamma_upper(shells.m, 1)


def _rescaled(fields: Fields, shells: Shells) -> Law:
    only(fields, ("kind", "beta"), "a rescaled law")
    beta = number(fields, "beta")
    if not beta > 0:
        raise Refuted(f"a law cannot be rescaled to {beta!r}")
    if exact(beta) == shells.sigma:
        return smoothing_law()
    rate = (shells.sigma / exact(beta)) ** shells.eta
    return Law((Piece(shells.m * rate.log(), arb(0), rate - 1),))


def _weighted(fields: Fields, shells: Shells) -> Law:
    only(fields, ("kind", "knots", "log_weights", "inner", "outer"), "a weighted law")
    knots = numbers(field(fields, "knots", list), "knots")
    logs = numbers(field(fields, "log_weights", list), "log_weights", infinite=True)
    inner, outer = (optional_number(fields, name) for name in ("inner", "outer"))
    if not knots or len(knots) != len(logs) or list(knots) != sorted(knots) or knots[0] <= 0:
        raise Refuted("the knots of a weighted law must rise, with a weight each")
    if math.inf in logs:
        raise Refuted("a weighted law has an infinite weight")
    if inner is not None and not shells.m + exact(inner) > 0:
        raise Refuted("a weighted law has infinite mass near 0")
    pieces = _lines(knots, logs, inner, outer, shells)
    # The scale of the weights is free; with the largest density at 1, errors are shares of it.
    top = max(_largest_log(piece, shells) for piece in pieces)
    pieces = [replace(piece, height=piece.height - top) for piece in pieces]
    total = arb(0)
    for piece in pieces:
        total += _mass(piece, shells)
    return Law(tuple(replace(piece, height=piece.height - total.log()) for piece in pieces))


# A law is added here: its kind, and the function that reads it.
CHECKED_LAWS: dict[str, Callable[[Fields, Shells], Law]] = {
    "truncated": _truncated,
    "rescaled": _rescaled,
    "weighted": _weighted,
}


def _lines(
    knots: Sequence[float],
    logs: Sequence[float],
    inner: float | None,
    outer: float | None,
    shells: Shells,
) -> list[Piece]:
    """The pieces of a weighted law, before its mass is known."""
    edges = [Edge(f"knot {Fraction(t)}", exact(t).log() - shells.log_m) for t in knots]
    pieces = []
    if inner is not None:
        pieces.append(_line(exact(inner), edges[0], logs[0], None, edges[0]))
    for i in range(len(knots) - 1):
        if knots[i + 1] > knots[i] and (logs[i] == -math.inf) != (logs[i + 1] == -math.inf):
            raise Refuted("a piece of a weighted law is zero at one of its ends only")
        if knots[i + 1] > knots[i] and logs[i] > -math.inf:
            rise = exact(logs[i + 1]) - exact(logs[i])
            slope = rise / (edges[i + 1].u - edges[i].u)
            pieces.append(_line(slope, edges[i], logs[i], edges[i], edges[i + 1]))
    if outer is not None:
        pieces.append(_line(exact(outer), edges[-1], logs[-1], edges[-1], None))
    if not pieces:
        raise Refuted("a weighted law is zero everywhere")
    return pieces


def _line(slope: arb, at: Edge, log: float, start: Edge | None, stop: Edge | None) -> Piece:
    if log == -math.inf:
        raise Refuted("a weighted law is zero where a slope says that it is not")
    return Piece(exact(log) - slope * at.u, slope, arb(0), start, stop)


def _largest_log(piece: Piece, shells: Shells) -> int:
    """About the largest log-density of a piece, as a whole number."""
    exponent, rate = float(shells.m + piece.slope), shells.rough_m
    peak = math.log(exponent / rate) if exponent > 0 else -math.inf
    if piece.start:
        peak = max(peak, float(piece.start.u))
    if piece.stop:
        peak = min(peak, float(piece.stop.u))
    height = float(shells.log_top + shells.m + piece.height)
    return round(height + exponent * peak - rate * math.exp(peak))


@dataclass(frozen=True, slots=True)
class PieceDensity(Integrand):
    """The density of a piece on the shells, perhaps times the norm in units of s."""

    shells: Shells
    piece: Piece
    by_norm: bool = False

    def value(self, u: Ball) -> tuple[Ball, arb]:
        t = self.shells.gamma(u)
        log = self.shells.log_density(u, t) + self.piece.log_weight(u, t, self.shells.m)
        if self.by_norm:
            log = log + (u + self.shells.log_m) * self.shells.power / 2
        return log.exp(), arb(0)


def _mass(piece: Piece, shells: Shells) -> arb:
    """An enclosure of the mass of a piece: the integral of P times its weight."""
    low, high = ends_of(piece, shells, 90.0)
    total = integral(PieceDensity(shells, piece), low, high, Budget(), sharp=1e-24)
    if piece.start is None:
        total += arb(0, tail_of(piece, shells, low, above=False))
    if piece.stop is None or high < piece.stop.u:
        total += arb(0, tail_of(piece, shells, high, above=True))
    return total


def tail_of(piece: Piece, shells: Shells, u: arb, *, above: bool) -> arb:
    """An upper bound of the mass that the law of a piece, if it went on, has beyond shell u."""
    return shells.tail(
        u,
        above=above,
        height=shells.log_top + shells.m + piece.height,
        exponent=shells.m + piece.slope,
        rate=shells.m * (1 + piece.excess),
    )


def ends_of(piece: Piece, shells: Shells, depth: float, factor: float = 1.0) -> tuple[arb, arb]:
    """About the shells between which `factor` times the density of a piece exceeds e^-depth.

    The mass outside is bounded by `tail_of`, so that the choice proves nothing.
    """
    height = float(shells.log_top + shells.m + piece.height) + math.log(factor)
    exponent = float(shells.m + piece.slope)
    rate = float(shells.m * (1 + piece.excess))
    rough_low, rough_high = shells.rough_range(height, exponent, rate, depth)
    wide = arb(2) ** -20
    low, high = arb(rough_low), arb(rough_high)
    if piece.start:
        low = piece.start.u
        high = high if high > low else low + wide
    if piece.stop:
        high = high if high < piece.stop.u else piece.stop.u
        low = low if low < high else high - wide
    return low, high
