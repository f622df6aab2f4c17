"""What a run must reach, as people write it: `accuracy@0.5>=0.60`, `mean_radius>=0.4`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from dsrs.errors import InvalidInput

SHARE_QUANTITIES = ("accuracy", "robust_accuracy", "clean_accuracy", "abstained")
AT_A_RADIUS = ("accuracy", "robust_accuracy")
FROM_BELOW = ("robust_accuracy", "mean_radius")  # nothing bounds them from above
QUANTITIES = (*SHARE_QUANTITIES, "mean_radius", "inputs")
QUANTITY_ALIASES = {
    "acr": "mean_radius",
    "average_radius": "mean_radius",
    "certified_accuracy": "accuracy",
    "robust": "robust_accuracy",
    "clean": "clean_accuracy",
    "abstention": "abstained",
}
RELATIONS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
FORM = re.compile(r"\s*([A-Za-z_ -]+?)\s*(?:@\s*([^\s<>=]+))?\s*(>=|<=|>|<)\s*([^\s<>=]+)\s*")
REQUIREMENT_EXAMPLES = (
    "accuracy@0.5>=0.60, robust_accuracy@0.5>=0.55, mean_radius>=0.4, abstained<=10%"
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A quantity of a run, a relation and a threshold.

    Attributes:
        quantity: one of QUANTITIES.
        radius: where an accuracy is asked for; else None.
        relation: one of RELATIONS.
        threshold: exactly as written; 60% is 0.6.
    """

    quantity: str
    radius: Fraction | None
    relation: str
    threshold: Fraction

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """Read a requirement such as `accuracy@0.5>=0.60`."""
        match = FORM.fullmatch(text)
        if match is None:
            raise InvalidInput(
                f"a requirement is written like {REQUIREMENT_EXAMPLES}; got {text!r}"
            )
        name, radius, relation, threshold = match.groups()
        key = name.lower().replace("-", "_").replace(" ", "_")
        quantity = QUANTITY_ALIASES.get(key, key)
        if quantity not in QUANTITIES:
            raise InvalidInput(
                f"{text!r} asks for {name!r}; the quantities are {', '.join(QUANTITIES)}"
            )
        at = None if radius is None else _number(radius, text)
        requirement = cls(quantity, at, relation, _number(threshold, text))
        requirement._check(text)
        return requirement

    def _check(self, text: str) -> None:
        if (self.radius is not None) != (self.quantity in AT_A_RADIUS):
            wanted = "needs a radius" if self.quantity in AT_A_RADIUS else "has no radius"
            raise InvalidInput(
                f"{text!r}: {self.quantity} {wanted}; write it like {REQUIREMENT_EXAMPLES}"
            )
        if self.radius is not None and self.radius < 0:
            raise InvalidInput(f"{text!r}: the radius must be 0 or more")
        if self.quantity in SHARE_QUANTITIES and not 0 <= self.threshold <= 1:
            raise InvalidInput(
                f"{text!r}: {self.quantity} is a share from 0 to 1; write 0.60 or 60%"
            )
        if self.quantity in FROM_BELOW and not self.from_below:
            raise InvalidInput(
                f"{text!r}: {self.quantity} can be required from below only, with >= or >"
            )

    @property
    def from_below(self) -> bool:
        """Whether the quantity must be large."""
        return self.relation in (">", ">=")

    @property
    def name(self) -> str:
        """The quantity, with its radius."""
        return self.quantity if self.radius is None else f"{self.quantity}@{_text(self.radius)}"

    @property
    def text(self) -> str:
        """Return the requirement as `parse` reads it."""
        return f"{self.name}{self.relation}{_text(self.threshold)}"

    def holds_for(self, value: Fraction) -> bool:
        """Whether this value meets the requirement."""
        return RELATIONS[self.relation](value, self.threshold)


def _number(text: str, where: str) -> Fraction:
    try:
        value = Decimal(text.removesuffix("%"))
        if value.is_finite() and abs(value.adjusted()) < 100:
            return Fraction(value) / (100 if text.endswith("%") else 1)
    except InvalidOperation:
        pass
    raise InvalidInput(f"{where!r}: expected a number, such as 0.5 or 60%, got {text!r}")


def _text(value: Fraction) -> str:
    return f"{float(value):.12g}"
