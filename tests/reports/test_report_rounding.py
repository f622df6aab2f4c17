from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsrs.measures import (
    ceil_number,
    ceil_text,
    floor_number,
    floor_text,
    nearest_number,
    nearest_text,
    percent,
    signed,
)

numbers = st.floats(-1e6, 1e6) | st.fractions(-1000, 1000)
digits = st.integers(0, 6)


@given(numbers, digits)
def test_floor_is_the_largest_decimal_that_does_not_exceed(value: float, places: int) -> None:
    printed = Fraction(floor_text(value, places))
    assert printed <= Fraction(value) < printed + Fraction(1, 10**places)


@given(numbers, digits)
def test_ceil_is_the_smallest_decimal_that_is_not_below(value: float, places: int) -> None:
    printed = Fraction(ceil_text(value, places))
    assert printed - Fraction(1, 10**places) < Fraction(value) <= printed


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        (0.9999, 2, "0.99"),
        (-0.0001, 2, "-0.01"),
        (0.29, 3, "0.289"),  # the float lies below 29/100
        (Fraction(29, 100), 3, "0.290"),
        (12, 0, "12"),
        (0.0, 1, "0.0"),
    ],
)
def test_floor_of_known_numbers(value: float, places: int, text: str) -> None:
    assert floor_text(value, places) == text


def test_accuracy_goes_down_and_abstention_goes_up() -> None:
    assert percent(Fraction(2, 3)) == "66.6"
    assert ceil_text(Fraction(100, 3), 1) == "33.4"
    assert percent(Fraction(1, 1)) == ceil_text(100, 1) == "100.0"


@given(numbers, digits)
def test_a_gain_is_off_by_half_a_digit_at_most(value: float, places: int) -> None:
    printed = Fraction(nearest_text(value, places))
    assert abs(printed - Fraction(value)) <= Fraction(1, 2 * 10**places)


def test_a_tiny_loss_is_not_made_ten_times_as_large() -> None:
    assert nearest_text(0.1931 - 0.1932, 3) == "0.000"
    assert nearest_text(-0.0006, 3) == "-0.001"
    assert nearest_number(-0.25, 1) == -0.2


def test_numbers_read_like_their_text() -> None:
    assert floor_number(2.34567, 4) == 2.3456
    assert ceil_number(0.99991, 4) == 1.0


def test_a_difference_shows_its_sign() -> None:
    assert [signed(text) for text in ("1.5", "-0.2", "0.0")] == ["+1.5", "-0.2", "0.0"]
