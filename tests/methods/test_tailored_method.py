"""The method `tailored` where votes or dimensions are few: it falls back to P, and never raises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dsrs.errors import InvalidInput
from dsrs.laws import HISTOGRAM_BINS, GeneralizedGaussian, Grid, Weighted, parse_additional_law
from dsrs.methods import Plan, certificates_of, methods_of
from dsrs.noise import Stream
from dsrs.votes import ESTIMATION, SELECTION
from evidence.honest_runs import checked, honest_evidence
from methods.simulation import Profile, simulate_input

GAUSSIAN = GeneralizedGaussian(16, 0.5)
# In the plane the best law for such a class has a density that rises in places.
PLANE = GeneralizedGaussian(2, 0.5, 0.0, 4.0)
BENT = Profile.of_two(1 - 0.3 * np.linspace(0, 1, HISTOGRAM_BINS) ** 3)
SURE = Profile.of_two(np.ones(HISTOGRAM_BINS))


@pytest.mark.parametrize("n", [10, 63, 64, 99, 100, 101, 400])
@pytest.mark.parametrize("options", [{}, {"radius": 0.2}, {"classes": "all"}])
def test_votes_that_choose_the_class_may_be_more_than_n(
    n: int, options: dict[str, object], tmp_path: Path
) -> None:
    plan = Plan(GAUSSIAN, ("np", "tailored"), n=n, n0=100, alpha=0.01, grid=None, **options)  # type: ignore[arg-type]
    seen = simulate_input(plan, SURE, 0, None, np.random.default_rng(0))
    assert seen.taken(Stream(SELECTION, GAUSSIAN)) >= 100
    found = certificates_of(seen, plan)
    if n <= 100:
        # All of n is left to the bound, under P: the same votes as Neyman-Pearson.
        assert found["tailored"].radius == found["np"].radius > 0
    assert checked(plan, honest_evidence(tmp_path / "run", plan, [seen])).unproved == []


def test_in_the_plane_the_law_is_p_where_the_grid_cannot_carry_the_best_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = Plan(PLANE, ("tailored",), n=4000, grid=Grid(1 / 4080))
    seen = simulate_input(plan, BENT, 0, 1, np.random.default_rng(0))
    best = seen.choices["tailored"]
    assert isinstance(best, Weighted)
    assert best.falls
    monkeypatch.setattr(Grid, "carries", staticmethod(lambda law: not isinstance(law, Weighted)))
    seen = simulate_input(plan, BENT, 0, 1, np.random.default_rng(0))
    assert seen.choices["tailored"] == PLANE
    assert seen.taken(Stream(ESTIMATION, PLANE)) > 3000


def test_a_law_that_the_grid_cannot_carry_is_refused_before_the_first_vote() -> None:
    text = "weighted:inner=0,0.5:-3,1:0,outer=0"
    assert not Grid.carries(parse_additional_law(text, PLANE))
    with pytest.raises(InvalidInput, match="falls with the norm"):
        methods_of(Plan(PLANE, (text,), grid=Grid(1 / 4080)))
    methods_of(Plan(PLANE, (text,), grid=None))
