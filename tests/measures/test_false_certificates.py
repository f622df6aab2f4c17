"""How many certificates of a run may be false."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dsrs.measures import expected_false, expected_false_text


def test_alphas_add_up_as_they_are_written() -> None:
    assert expected_false(0.001, 1000) == 1
    assert expected_false(0.05, 3) == Fraction(3, 20)
    assert expected_false(0.001, 0) == 0


@pytest.mark.parametrize(
    ("alpha", "certificates", "number"),
    [(0.001, 8, "0.008"), (0.001, 12_345, "12.35"), (1e-7, 3, "0.0000003"), (0.05, 0, "0")],
)
def test_the_number_is_rounded_up(alpha: float, certificates: int, number: str) -> None:
    text = expected_false_text(alpha, certificates)
    assert text.startswith(f"at most {number} of {certificates:,} certificates are expected")


def test_a_family_says_that_all_hold_together() -> None:
    assert expected_false_text(0.001, 50, 0.1, 100).endswith(
        "; all 100 of the run hold together, except with probability 0.1 at most"
    )
