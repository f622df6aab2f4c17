"""The ledger of failure probability."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsrs.confidence import AlphaBudget, Share
from dsrs.errors import AlphaOverspent, InvalidInput


def test_halves_make_the_whole() -> None:
    budget = AlphaBudget(0.001)
    assert budget.spend(0.0005, "P_A") == 0.0005
    assert budget.spend(0.0005, "Q_A") == 0.0005
    assert budget.remaining == 0
    assert budget.shares == [Share("P_A", 0.0005), Share("Q_A", 0.0005)]
    with pytest.raises(AlphaOverspent, match=r"'third' asks for 1e-12.*\n.*P_A"):
        budget.spend(1e-12, "third")


def test_overspending_leaves_the_ledger_as_it_was() -> None:
    budget = AlphaBudget(0.1)
    budget.spend(0.06, "first")
    with pytest.raises(AlphaOverspent, match=r"only 0\.04 of alpha = 0\.1 is left"):
        budget.spend(0.05, "second")
    assert [share.purpose for share in budget.shares] == ["first"]
    assert budget.spend(0.04, "second") == pytest.approx(0.04, rel=1e-14)


@given(st.floats(1e-9, 0.999), st.integers(1, 40))
def test_equal_shares_pass_and_never_exceed_alpha(alpha: float, parts: int) -> None:
    budget = AlphaBudget(alpha)
    granted = [budget.spend(alpha / parts, f"bound {i}") for i in range(parts)]
    assert sum(map(Fraction, granted)) <= Fraction(alpha)
    assert granted == pytest.approx([alpha / parts] * parts, rel=1e-12)


@given(st.lists(st.floats(1e-6, 0.5), min_size=1, max_size=10))
def test_granted_shares_never_exceed_alpha(shares: list[float]) -> None:
    budget = AlphaBudget(0.5)
    for share in shares:
        try:
            assert budget.spend(share, "bound") <= share
        except AlphaOverspent:
            spent = sum(Fraction(granted.alpha) for granted in budget.shares)
            assert Fraction(share) + spent > Fraction(0.5)
    assert sum(Fraction(share.alpha) for share in budget.shares) <= Fraction(0.5)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, math.nan])
def test_alpha_must_be_a_failure_probability(alpha: float) -> None:
    with pytest.raises(InvalidInput, match=r"`alpha` must be in \(0, 1\)"):
        AlphaBudget(alpha)


@pytest.mark.parametrize("share", [0.0, -1e-3, math.nan, math.inf])
def test_a_share_must_be_positive(share: float) -> None:
    with pytest.raises(InvalidInput, match="`share` of 'P_A' must be a positive number"):
        AlphaBudget(0.1).spend(share, "P_A")


def test_the_record_is_readable() -> None:
    budget = AlphaBudget(0.5)
    budget.spend(0.125, "lower bound of P_A")
    assert budget.describe() == "  0.125        lower bound of P_A\n  0.375        not spent"
