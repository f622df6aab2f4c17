"""What is known of probabilities, and what a proof is: what makes a radius true.

A proof can be checked without any search. A new kind is a file like dual.py, and an entry of
`PROOF_KINDS`. Everything else (certificates, their JSON and check, the store, tables, attacks,
reports) asks a proof what it needs to know.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from dsrs.errors import InvalidInput
from dsrs.files import record_to_json
from dsrs.laws import AdditionalLaw, GeneralizedGaussian


@dataclass(frozen=True, slots=True)
class Interval:
    """What is known of a probability.

    Attributes:
        lower: a lower bound of the probability.
        upper: an upper bound of the probability.
    """

    lower: float
    upper: float

    AS_LIST: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, value in (("lower", self.lower), ("upper", self.upper)):
            if not 0 <= value <= 1:
                raise InvalidInput(f"`{name}` must be a probability in [0, 1], got {value!r}")
        if self.lower > self.upper:
            raise InvalidInput(f"`lower` must not exceed `upper`, got [{self.lower}, {self.upper}]")


NOTHING_KNOWN = Interval(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Observation:
    """What is known of the probability of the class under one additional law.

    Attributes:
        law: the additional law Q.
        interval: bounds of Q_A.
    """

    law: AdditionalLaw
    interval: Interval = field(metadata={"json": "q"})


# What a certificate claims near its input: that the class has a majority, or that it leads.
Claim = Literal["majority", "lead"]

# Claimed numbers may differ from recomputed ones by rounding.
CLAIM_ROUNDING = 1e-12
# A bound above 1 contradicts itself: no classifier has these probabilities.
LARGEST_BOUND = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Step:
    """At shift length `radius` these multipliers make the dual bound at least `dual_bound`.

    There is one multiplier for each bound that the proof starts from; that of P_A comes first.
    """

    radius: float
    multipliers: tuple[float, ...]
    dual_bound: float


class Proof(ABC):
    """What makes a radius true. Kinds are frozen dataclasses; their fields are their JSON.

    A proof without steps proves nothing: it keeps what was known where that was not enough.
    """

    __slots__ = ()

    kind: ClassVar[str]  # its name in JSON
    claim: ClassVar[Claim]

    @property
    @abstractmethod
    def reach(self) -> float:
        """The radius that is proved, around the point that was sampled; 0 where nothing is."""

    @abstractmethod
    def flaw(self, law: GeneralizedGaussian) -> str | None:
        """The first thing that is wrong with this proof under the smoothing law, or None."""

    @property
    def known_of_p(self) -> Interval:
        """What the proof starts from about P_A."""
        return NOTHING_KNOWN

    @property
    def observations(self) -> tuple[Observation, ...]:
        """What the proof starts from about other laws."""
        return ()

    @property
    def outermost(self) -> Step | None:
        """The step at the proved radius, for people; None where there is none."""
        return None

    def columns(self) -> dict[str, Any]:
        """The cells of a table that a proof fills: see `ResultRow` for the names.

        `proof` is the whole proof, in JSON.
        """
        known = self.known_of_p
        cells: dict[str, Any] = {"p_lower": known.lower, "p_upper": known.upper}
        for seen in self.observations[:1]:
            cells["q_law"] = seen.law.text
            cells["q_lower"], cells["q_upper"] = seen.interval.lower, seen.interval.upper
        return cells | {"proof": self.text}

    def to_dict(self) -> dict[str, Any]:
        """Return the proof as JSON, without loss."""
        return {"kind": self.kind, **record_to_json(self)}

    @property
    def text(self) -> str:
        """The JSON of the proof."""
        return json.dumps(self.to_dict(), allow_nan=False)


def flaw_of_numbers(steps: Sequence[Step], bounds: int) -> str | None:
    """What is wrong with the numbers of steps that have a multiplier for each of the bounds."""
    for step in steps:
        if len(step.multipliers) != bounds:
            return f"a step has {len(step.multipliers)} multipliers for {bounds} bounds"
        if any(math.isnan(value) for value in (step.radius, step.dual_bound, *step.multipliers)):
            return "a number of the proof is not a number"
    return None
