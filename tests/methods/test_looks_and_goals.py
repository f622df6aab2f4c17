"""When adaptive strategies look, when they stop, and what each look may cost."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from scipy import special, stats

from dsrs.confidence import clopper_pearson_lower, clopper_pearson_upper
from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import (
    GIVING_UP,
    Goal,
    Look,
    Plan,
    bound_needed,
    defaults,
    hits_needed,
    methods_of,
    no_lead,
    out_of_reach,
    schedule,
)
from dsrs.noise import Stream
from dsrs.votes import ESTIMATION

PLAIN = GeneralizedGaussian(16, 0.5)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000, 100_000, 12_345_678])
@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.3, 1 / 3])
def test_the_parts_of_alpha_never_add_up_to_more(n: int, alpha: float) -> None:
    looks = schedule(n, alpha, 64)
    assert sum(Fraction(look.alpha) for look in looks) <= Fraction(alpha)
    assert looks[-1].votes == n
    assert looks[-1].alpha >= defaults.LOOK_RULE[1] * alpha * (1 - 1e-12)
    votes = [look.votes for look in looks]
    assert votes == sorted(set(votes))
    assert all(end % 64 == 0 for end in votes[:-1])
    assert votes[0] == min(64, n)


def test_one_thing_is_asked_at_a_time_and_it_is_a_number() -> None:
    refused: list[dict[str, Any]] = [
        {"radius": 1.0, "precision": 0.1},
        {"radius": 0.0},
        {"radii": (0.5, -1.0)},
        {"radii": (0.0, 1.0)},
        {"precision": float("nan")},
    ]
    for fields in refused:
        with pytest.raises(InvalidInput):
            Plan(PLAIN, ("np",), **fields)


@pytest.mark.parametrize("fields", [{"radius": 1.0}, {"radii": (1.0,)}])
def test_double_sampling_is_refused_with_the_reason(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"not for rescaled:0\.8x: it has no looks"):
        methods_of(Plan(PLAIN, ("np", "rescaled:0.8x"), **fields))


def test_what_would_be_news() -> None:
    assert Goal(radius=1.0).next_radius(0.9) == 1.0
    assert Goal(radius=1.0).next_radius(1.0) is None
    table = Goal(radii=(0.5, 1.0, 1.5))
    assert [table.next_radius(r) for r in (0.0, 0.5, 0.7, 1.5)] == [0.5, 1.0, 1.0, None]
    assert Goal(precision=0.1).next_radius(2.0) == pytest.approx(2.2)
    assert (Goal(radius=1.0).asked, table.asked, Goal(precision=0.1).asked) == (
        (1.0,),
        (0.5, 1.0, 1.5),
        None,
    )


@pytest.mark.parametrize(("votes", "needed"), [(20, 0.5), (20, 0.99), (50, 0.8)])
def test_the_fewest_hits_that_prove_a_bound(votes: int, needed: float) -> None:
    proved = [clopper_pearson_lower(hits, votes, 0.05) >= needed for hits in range(votes + 1)]
    first = proved.index(True) if any(proved) else votes + 1
    assert hits_needed(votes, 0.05, needed) == first


def test_out_of_reach_is_less_likely_than_it_says() -> None:
    last = Look(1000, 0.05)
    for hits in range(0, 101, 4):
        most = clopper_pearson_upper(hits, 100, GIVING_UP)
        missing = hits_needed(1000, 0.05, 0.8) - hits
        chance = float(stats.binom.sf(missing - 1, 900, most))
        assert out_of_reach(hits, 100, last, 0.8) == (chance <= GIVING_UP)
    assert not out_of_reach(1000, 1000, last, 0.8)
    assert out_of_reach(700, 1000, last, 0.8)


def test_a_lead_is_given_up_with_doubt_on_both_sides() -> None:
    assert no_lead(20, 60, 100, 0.0)
    assert not no_lead(45, 50, 100, 0.0)
    assert no_lead(45, 50, 100, 2.0)


def test_the_bound_that_is_needed_for_a_radius() -> None:
    assert bound_needed(Stream(ESTIMATION, PLAIN), 0.7) == pytest.approx(
        float(special.ndtr(1.4)), abs=1e-15
    )
