"""How many certificates of a run may be false: each is with probability alpha at most."""

from __future__ import annotations

import math
from fractions import Fraction

from dsrs.measures.rounding import ceil_text


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
