"""Requirements as people write them, and what a sample shows of its population."""

from __future__ import annotations

from fractions import Fraction

import pytest
from scipy import stats

from dsrs.errors import InvalidInput
from dsrs.measures import Requirement, inputs_needed, mean_of, robust_share, share_of


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("accuracy@0.5>=0.60", "accuracy@0.5>=0.6"),
        (" Accuracy @ 0.5 >= 60% ", "accuracy@0.5>=0.6"),
        ("acr>0.4", "mean_radius>0.4"),
        ("mean-radius >= .4", "mean_radius>=0.4"),
        ("abstention<=10%", "abstained<=0.1"),
        ("inputs>=5e2", "inputs>=500"),
    ],
)
def test_requirements_are_read(text: str, meaning: str) -> None:
    assert Requirement.parse(text).text == meaning
    assert Requirement.parse(meaning) == Requirement.parse(text)


def test_thresholds_are_exact() -> None:
    asked = Requirement.parse("accuracy@0.1>=0.29")
    assert asked.holds_for(Fraction(29, 100))  # the float 0.29 lies below
    assert not Requirement.parse("accuracy@0.1>0.29").holds_for(Fraction(29, 100))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("accuracy>=0.6", "accuracy needs a radius"),
        ("mean_radius@0.5>=0.4", "mean_radius has no radius"),
        ("accuracy@0.5=0.6", "is written like"),
        ("accuracy@0.5>=60", "write 0.60 or 60%"),
        ("accuracy@-1>=0.6", "0 or more"),
        ("accuracy@x>=0.6", "expected a number"),
        ("accurracy@0.5>=0.6", "the quantities are accuracy"),
        ("mean_radius<=0.4", "from below only"),
        ("robust_accuracy@0.5<0.4", "from below only"),
        ("accuracy@0.5>=nan", "expected a number"),
        ("", "is written like"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Requirement.parse(text)


def test_shares_have_exact_bounds_also_where_all_agree() -> None:
    found = share_of(20, 20, 0.05)
    assert float(found.low) == pytest.approx(0.05 ** (1 / 20))
    assert found.value == 1
    assert found.high == 1


def test_alpha_is_taken_off_robust_shares() -> None:
    found = robust_share(80, 100, 0.05, 0.01)
    assert found.low == share_of(80, 100, 0.05).low - Fraction(0.01)
    # More than 3 of 100 false certificates have probability 0.018, more than 2 0.079.
    assert stats.binom.sf(2, 100, 0.01) > 0.05 > stats.binom.sf(3, 100, 0.01)
    assert found.value == Fraction(77, 100)
    assert robust_share(0, 100, 0.05, 0.01).low == 0


def test_robust_shares_cover() -> None:
    """Of all inputs 70% are robust; a certificate of the others is given at the worst rate."""
    false, robust, inputs, alpha = 0.02, 0.7, 60, 0.1
    certified = robust + (1 - robust) * false / (1 - robust)  # false with probability 2% overall
    counts = range(inputs + 1)
    law = stats.binom.pmf(counts, inputs, certified)
    wrong = sum(
        mass
        for count, mass in zip(counts, law, strict=True)
        if robust_share(count, inputs, alpha, false).low > robust
    )
    assert wrong <= alpha


def test_the_mean_is_exact_and_its_bound_below() -> None:
    found = mean_of([0.25, 0.5, 0.75], 0.05)
    assert found.value == Fraction(1, 2)
    assert found.low < found.value
    assert found.high is None


def test_as_many_inputs_as_are_said_to_be_needed_show_it() -> None:
    needed = inputs_needed(Fraction(7, 10), Fraction(6, 10), 0.05)
    assert needed is not None
    assert share_of(int(0.7 * needed), needed, 0.05).low >= Fraction(6, 10)
    assert share_of(int(0.7 * needed // 2), needed // 2, 0.05).low < Fraction(6, 10)
    assert inputs_needed(Fraction(1, 2), Fraction(6, 10), 0.05) is None
