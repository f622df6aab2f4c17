"""From some inputs to the population that they were drawn from, and what is required of it.

The bounds are exact and one-sided. They hold for any number of inputs, also where all of them
agree: 20 of 20 certified shows 86% with 95% confidence, where the bootstrap would say 100%. The
inputs must be a random sample of the population, such as every k-th image of a shuffled test set.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from scipy import stats

from dsrs.confidence import clopper_pearson_lower, clopper_pearson_upper, nonnegative_mean_lower
from dsrs.errors import InvalidInput

MOST_ADVISED_INPUTS = 1_000_000  # further advice helps nobody


@dataclass(frozen=True, slots=True)
class Bounded:
    """A number of these inputs, and bounds of the same number of the population.

    Each bound is on its side of the truth with the confidence it was asked for; `high` is None
    where nothing bounds the number from above.
    """

    value: Fraction
    low: Fraction
    high: Fraction | None


def share_of(count: int, inputs: int, alpha: float) -> Bounded:
    """A share of inputs: Clopper-Pearson on either side."""
    return Bounded(
        Fraction(count, inputs),
        Fraction(clopper_pearson_lower(count, inputs, alpha)),
        Fraction(clopper_pearson_upper(count, inputs, alpha)),
    )


def robust_share(certified: int, inputs: int, alpha: float, false: float) -> Bounded:
    """The share of inputs that are robust, where a certificate is false with probability `false`.

    For the population: an input is certified with probability at most P(robust) + `false`, so
    `false` is taken off the bound of the certified share. For these inputs: the number of false
    certificates is at most a binomial one of `inputs` draws (each input's votes are its own), so
    its quantile at confidence 1 - alpha is taken off their count.
    """
    low = Fraction(clopper_pearson_lower(certified, inputs, alpha)) - Fraction(false)
    most_false = int(stats.binom.isf(alpha, inputs, false))
    while stats.binom.sf(most_false, inputs, false) > alpha:
        most_false += 1
    value = Fraction(max(certified - most_false, 0), inputs)
    return Bounded(value, max(low, Fraction(0)), None)


def mean_of(values: Sequence[float], alpha: float) -> Bounded:
    """The mean of numbers that are not negative."""
    mean = sum(map(Fraction, values), Fraction()) / len(values)
    return Bounded(mean, Fraction(nonnegative_mean_lower(values, alpha)), None)


def inputs_needed(share: Fraction, threshold: Fraction, alpha: float) -> int | None:
    """About how many inputs with this share would show that the population's is above."""
    if share <= threshold:
        return None
    low, high = 1, MOST_ADVISED_INPUTS
    if _shown(share, high, alpha) < threshold:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if _shown(share, middle, alpha) >= threshold:
            high = middle
        else:
            low = middle
    return high


def _shown(share: Fraction, inputs: int, alpha: float) -> float:
    return clopper_pearson_lower(math.floor(share * inputs), inputs, alpha)


# ---- Requirements as people write them: `accuracy@0.5>=0.60`, `mean_radius>=0.4`

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
