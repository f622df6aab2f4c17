"""Printed digits that never claim more than was proved.

Radii and accuracies go down, abstention rates go up, intervals of probabilities go outward.
Differences of two such numbers claim nothing, and go to the nearest digit. The numbers are exact
(`Fraction`, or the binary value of a float), so 29 of 100 is 0.290 with three digits, although the
float 0.29 lies below it.
"""

from __future__ import annotations

import math
from fractions import Fraction

Exact = Fraction | float | int


def floor_text(value: Exact, digits: int) -> str:
    """Return `value` rounded down to `digits` decimals: 0.9999 with 2 digits is 0.99."""
    if value in (math.inf, -math.inf):
        return str(value)
    return _decimal_text(math.floor(Fraction(value) * 10**digits), digits)


def floor_printed(value: float, digits: int) -> str:
    """Round the decimal that Python prints for a float down, so that 0.82 is 0.8200.

    That decimal may lie above the float by half of its last bit, which `floor_text` counts.
    """
    return floor_text(value if math.isinf(value) else Fraction(repr(float(value))), digits)


def ceil_text(value: Exact, digits: int) -> str:
    """Return `value` rounded up to `digits` decimals."""
    return _decimal_text(math.ceil(Fraction(value) * 10**digits), digits)


def nearest_text(value: Exact, digits: int) -> str:
    """Return a difference rounded to the nearest decimals, so that -0.0001 is not -0.001."""
    return _decimal_text(round(Fraction(value) * 10**digits), digits)


def nearest_number(value: Exact, digits: int) -> float:
    """Return the float that reads like `nearest_text`."""
    return float(nearest_text(value, digits))


def floor_number(value: Exact, digits: int) -> float:
    """Return the float that reads like `floor_text`, for JSON and plots."""
    return float(floor_text(value, digits))


def ceil_number(value: Exact, digits: int) -> float:
    """Return the float that reads like `ceil_text`."""
    return float(ceil_text(value, digits))


def percent(share: Exact, digits: int = 1) -> str:
    """Return an accuracy in percent, rounded down."""
    return floor_text(Fraction(share) * 100, digits)


def signed(text: str) -> str:
    """Return the text of a difference with its sign: +1.5, -0.2, and 0.0 without a sign."""
    return text if text.startswith("-") or not float(text) else "+" + text


def _decimal_text(scaled: int, digits: int) -> str:
    sign = "-" if scaled < 0 else ""
    whole, rest = divmod(abs(scaled), 10**digits)
    return f"{sign}{whole}.{rest:0{digits}d}" if digits else f"{sign}{whole}"


# ---- How many certificates of a run may be false: each is with probability alpha at most


def expected_false(alpha: float, certificates: int) -> Fraction:
    """An upper bound of the expected number of false certificates: the sum of their alphas.

    An expectation is additive, so it does not matter that certificates share votes or seeds. What
    is counted is every certificate that was tried for, an abstention too: it could have been false.
    alpha is the decimal number that Python prints for it.
    """
    return Fraction(repr(alpha)) * certificates


def expected_false_text(
    alpha: float,
    certificates: int,
    family_alpha: float | None = None,
    family_size: int | None = None,
) -> str:
    """Return the expected number of false certificates as text, rounded up.

    Args:
        alpha: failure probability of each certificate.
        certificates: how many there are, abstentions included.
        family_alpha: failure probability of all of them together, where the plan divided it.
        family_size: among how many certificates it was divided.
    """
    expected = expected_false(alpha, certificates)
    digits = max(2, 1 - math.floor(math.log10(expected))) if expected else 2
    text = (
        f"at most {ceil_text(expected, digits).rstrip('0').rstrip('.')} of {certificates:,} "
        f"certificates are expected to be false (alpha = {alpha:.3g} each)"
    )
    if family_alpha is None:
        return text
    return (
        f"{text}; all {family_size:,} of the run hold together, except with probability "
        f"{family_alpha:g} at most"
    )
