"""What a run was asked to do, read from the JSON of its plan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dsrs.audit.claims import LARGEST_DIMENSION, LARGEST_SEED, SmoothingLaw
from dsrs.audit.methods.ballots import MOST_VOTES
from dsrs.audit.reading import (
    choice,
    field,
    number,
    numbers,
    only,
    optional,
    optional_number,
    whole,
)
from dsrs.audit.verdicts import NotACertificate, Refuted

PLAN_FIELDS = (
    *("law", "methods", "n", "n0", "alpha", "seed", "sample_share", "alpha_share", "fallback"),
    *("early_stop", "target", "batch", "radius", "radii", "precision", "classes", "grid"),
    *("family_alpha", "family_size", "seed_public"),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run; docs/certify.md says what each option means."""

    law: SmoothingLaw
    methods: tuple[str, ...]
    n: int
    n0: int
    alpha: float
    seed: int
    sample_share: float
    alpha_share: float
    fallback: bool
    target: str
    batch: int
    radius: float | None
    adaptive: bool
    classes: str
    grid_step: float | None
    family_size: int | None

    @classmethod
    def read(cls, fields: Any) -> Plan:
        """A plan from its JSON; Undecided where it has options that this check does not know."""
        only(fields, PLAN_FIELDS, "the plan")
        grid = optional(fields, "grid", dict)
        family_size = _family_size(fields)
        radius, precision = (optional_number(fields, name) for name in ("radius", "precision"))
        radii = numbers(field(fields, "radii", list), "radii")
        if any(goal <= 0 for goal in (radius, precision, *radii) if goal is not None):
            raise NotACertificate("a radius or precision of the plan must be positive")
        for name in ("early_stop", "seed_public"):
            optional(fields, name, bool)  # no bound rests on these
        if grid is not None:
            optional_number(grid, "origin")
        methods = field(fields, "methods", list)
        if not all(isinstance(text, str) for text in methods):
            raise NotACertificate("`methods` of the plan must be texts")
        return cls(
            law=SmoothingLaw.read(field(fields, "law", dict)),
            methods=tuple(methods),
            n=whole(fields, "n", 1, MOST_VOTES),
            n0=whole(fields, "n0", 1, MOST_VOTES),
            alpha=_share(fields, "alpha"),
            seed=whole(fields, "seed", 0, LARGEST_SEED),
            sample_share=_share(fields, "sample_share"),
            alpha_share=_share(fields, "alpha_share"),
            fallback=field(fields, "fallback", bool),
            target=choice(fields, "target", ("label", "predicted")),
            batch=whole(fields, "batch", 1, LARGEST_DIMENSION),
            radius=radius,
            adaptive=radius is not None or precision is not None or bool(radii),
            classes=choice(fields, "classes", ("top", "all")),
            grid_step=None if grid is None else _positive(grid, "step"),
            family_size=family_size,
        )

    @property
    def exact_alpha(self) -> Fraction:
        """Return alpha as a fraction."""
        return Fraction(self.alpha)

    @property
    def first_votes(self) -> int:
        """Votes under P of a method of double sampling."""
        return round(self.n * self.sample_share)


def _family_size(fields: Any) -> int | None:
    """How many certificates shall hold together; their parts of alpha add up to that of all."""
    family = optional_number(fields, "family_alpha")
    if family is None and fields.get("family_size") is None:
        return None
    size = whole(fields, "family_size", 1, MOST_VOTES)
    if family is None or Fraction(number(fields, "alpha")) * size > Fraction(family):
        raise Refuted("the parts of alpha of all certificates add up to more than family_alpha")
    return size


def _share(fields: Any, name: str) -> float:
    value = number(fields, name)
    if not 0 < value < 1:
        raise NotACertificate(f"`{name}` of the plan must lie in (0, 1), got {value!r}")
    return value


def _positive(fields: Any, name: str) -> float:
    value = number(fields, name)
    if not 0 < value < math.inf:
        raise NotACertificate(f"`{name}` of the grid must be positive, got {value!r}")
    return value
