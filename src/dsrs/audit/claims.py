"""What a certificate says, read from its JSON (format 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dsrs.audit.reading import (
    Fields,
    choice,
    field,
    number,
    numbers,
    only,
    optional,
    optional_number,
    shown,
    whole,
)
from dsrs.audit.shells import Shells
from dsrs.audit.verdicts import NotACertificate, Refuted, Undecided

CERTIFICATE_FORMAT = 3
STATUSES = ("certified", "short", "abstained", "undecided")
OTHER_NORMS = ("linf_radius", "l1_radius")
CERTIFICATE_FIELDS = (
    *("format", "schema", "status", "radius", "np_radius", *OTHER_NORMS, "complete", "law"),
    *("grid", "proof", "subject"),
)
IN_SUBJECT: dict[str, type] = {
    **{"class": int, "class_name": str, "alpha": float, "method": str, "n": int, "seed": int},
    **{"seed_public": bool, "index": int, "model": str, "input": str},
}
LARGEST_DIMENSION = 2**53  # every such number is a double
LARGEST_SEED = 2**128 - 1
ROOT_UNIT = 10**20  # roots are rounded up to multiples of its reciprocal
# A vector may be longer in the second norm than in the first by the square root of d to this.
LENGTHENING_POWERS = {("linf", "l2"): 1, ("linf", "l1"): 2}


@dataclass(frozen=True, slots=True)
class SmoothingLaw:
    """The parameters of the smoothing law P (docs/math.md 1)."""

    d: int
    sigma: float
    k: float
    eta: float
    norm: str = "l2"

    @classmethod
    def read(cls, fields: Any) -> SmoothingLaw:
        """The law of a JSON object; Undecided where it names what this check does not know."""
        if isinstance(fields, dict) and "kind" in fields:
            kind = shown(fields["kind"])
            raise Undecided(f"this check does not know smoothing laws of the kind {kind}")
        law = cls(
            whole(fields, "d", 2, LARGEST_DIMENSION),
            number(fields, "sigma"),
            number(fields, "k"),
            2.0 if optional_number(fields, "eta") is None else number(fields, "eta"),
        )
        only(fields, ("d", "sigma", "k", "eta"), "the smoothing law")
        if not (law.sigma > 0 and law.eta > 0 and 0 <= law.k < law.d / 2):
            raise Refuted("no smoothing law has these parameters")
        return law

    def shells(self) -> Shells:
        """The law in balls, of the precision that is set now."""
        return Shells(self.d, self.sigma, self.k, self.eta, self.norm)


@dataclass(frozen=True, slots=True)
class Interval:
    """A probability is said to lie in [lower, upper]."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper <= 1:
            raise Refuted(f"[{self.lower!r}, {self.upper!r}] is no interval of a probability")

    @classmethod
    def read(cls, ends: Any, name: str) -> Interval:
        """An interval from a list of two numbers."""
        bounds = numbers(ends, name)
        if len(bounds) != 2:
            raise NotACertificate(f"`{name}` must have two ends, got {len(bounds)}")
        return cls(*bounds)

    @property
    def says_nothing(self) -> bool:
        """Return whether the interval is [0, 1], which every probability lies in."""
        return self.lower == 0 and self.upper == 1


@dataclass(frozen=True, slots=True)
class Step:
    """At a shift of length `radius` these multipliers are said to make B at least `bound`."""

    radius: float
    multipliers: tuple[float, ...]
    bound: float

    @classmethod
    def read(cls, fields: Any) -> Step:
        """A step from a JSON object."""
        multipliers = field(fields, "multipliers", list)
        step = cls(
            number(fields, "radius", infinite=True),
            numbers(multipliers, "multipliers", infinite=True),
            number(fields, "dual_bound"),
        )
        if step.radius <= 0:
            raise Refuted(f"a step of the proof is for a shift of length {step.radius!r}")
        only(fields, ("radius", "multipliers", "dual_bound"), "a step of the proof")
        return step


@dataclass(frozen=True, slots=True)
class OnGrid:
    """Input and noise were rounded to a grid of this `step`, which moved the input by `moved`."""

    step: float
    moved: float
    variation: float

    @classmethod
    def read(cls, fields: Any, distance: str = "moved") -> OnGrid:
        """The note from a JSON object; `origin` is where the grid begins, and `distance` names how
        far inputs are moved."""
        grid = cls(*(number(fields, name) for name in ("step", distance, "variation")))
        optional_number(fields, "origin")
        only(fields, ("step", distance, "variation", "origin"), "the grid")
        if not (grid.step > 0 and grid.moved >= 0 and 0 <= grid.variation <= 1):
            raise Refuted(f"there is no such grid: {grid}")
        return grid


@dataclass(frozen=True, slots=True)
class Claim:
    """Everything that a certificate says but its proof, which is kept as `kind` and JSON."""

    law: SmoothingLaw
    status: str
    radius: float
    np_radius: float | None
    other_radii: Mapping[str, float]
    grid: OnGrid | None
    kind: str | None
    proof: Fields | None
    subject: Fields | None

    @classmethod
    def read(cls, fields: Any) -> Claim:
        """A certificate from its JSON."""
        if not isinstance(fields, Mapping):
            raise NotACertificate(f"expected a JSON object, got {shown(fields)}")
        if field(fields, "format", object) != CERTIFICATE_FORMAT:
            raise Undecided(f"this check does not know the format {shown(fields['format'])}")
        proof, grid = optional(fields, "proof", dict), optional(fields, "grid", dict)
        optional(fields, "complete", bool)
        claim = cls(
            law=SmoothingLaw.read(field(fields, "law", dict)),
            status=choice(fields, "status", STATUSES),
            radius=number(fields, "radius", infinite=True),
            np_radius=None
            if field(fields, "np_radius", object) is None
            else number(fields, "np_radius", infinite=True),
            other_radii={
                name: number(fields, name, infinite=True) for name in OTHER_NORMS if name in fields
            },
            grid=None if grid is None else OnGrid.read(grid),
            kind=None if proof is None else field(proof, "kind", str),
            proof=proof,
            subject=_subject(fields),
        )
        only(fields, CERTIFICATE_FIELDS, "a certificate")
        return claim

    def beyond_move(self, radius: float) -> Fraction:
        """How far from the grid point a finite radius around the input reaches.

        `moved` is an l2 length; in l1 it is at most the square root of d times as long, which is
        rounded up.
        """
        moved = Fraction(self.grid.moved if self.grid else 0)
        if self.law.norm == "l1":
            moved *= Fraction(math.isqrt(self.law.d * ROOT_UNIT**2) + 1, ROOT_UNIT)
        return Fraction(radius) + moved

    def check_words(self, steps: int) -> None:
        """Raise Refuted where the parts of the claim contradict each other or its `steps`."""
        if not (self.radius >= 0 and (self.np_radius is None or self.np_radius >= 0)):
            raise Refuted("a radius is negative")
        proves = self.status == "certified" or (self.status == "short" and self.radius > 0)
        if proves != (self.radius > 0) or proves != (steps > 0):
            raise Refuted(f"status {self.status}, radius {self.radius!r} and proof do not fit")
        if not proves and self.np_radius:
            raise Refuted("it claims a Neyman-Pearson radius, and no radius")
        self._check_other_norms()

    def _check_other_norms(self) -> None:
        """A ball of another norm lies in that of the law's norm, if its radius is small enough."""
        for name, value in self.other_radii.items():
            power = LENGTHENING_POWERS.get((name.removesuffix("_radius"), self.law.norm), 0)
            most = self.law.d**power
            if value < 0 or (math.isinf(value) and not math.isinf(self.radius)):
                raise Refuted(f"`{name}` is {value!r}, and the radius {self.radius!r}")
            if math.isinf(self.radius):
                continue
            if Fraction(value) ** 2 * most > Fraction(self.radius) ** 2:
                raise Refuted(f"`{name}` {value!r} does not follow from {self.radius!r}")


def _subject(fields: Fields) -> Fields | None:
    """Read what the certificate is about, which is shown beside the verdict."""
    subject = optional(fields, "subject", dict)
    if subject is None:
        return None
    only(subject, IN_SUBJECT, "the subject")
    for name, kind in IN_SUBJECT.items():
        value = optional(subject, name, object if kind is float else kind)
        if kind is int and value is not None:
            whole(subject, name, 0, LARGEST_SEED)
    alpha = optional_number(subject, "alpha")
    if alpha is not None and not 0 < alpha < 1:
        raise Refuted(f"its alpha is {alpha!r}")
    return subject
