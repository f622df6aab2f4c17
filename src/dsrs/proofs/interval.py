"""What is known of probabilities: an interval under the smoothing law, or under another law."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dsrs.errors import InvalidInput
from dsrs.laws import AdditionalLaw


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
