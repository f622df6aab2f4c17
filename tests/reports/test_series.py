from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dsrs.laws import HISTOGRAM_BINS
from dsrs.reports import (
    SHOWN_DIGITS,
    Resampling,
    RunSummary,
    figure_series,
    gain_bands,
    input_points,
    on_one_axis,
    probability_curve,
    radial_accuracy,
    step_curve,
)
from dsrs.store import RunResult
from dsrs.votes import SampledInput


@given(st.lists(st.floats(0, 5) | st.just(-np.inf), min_size=1, max_size=20), st.floats(0, 6))
def test_the_step_curve_never_says_more_than_the_definition(radii: list[float], at: float) -> None:
    proved = np.array(radii)
    curve = step_curve("run", "np", proved)
    place = next((i for i, end in enumerate(curve.radius) if end >= at), None)
    drawn = 0.0 if place is None else curve.accuracy[place]
    true = np.count_nonzero(proved >= at) / len(radii)
    assert drawn <= true
    unit = 10.0**-SHOWN_DIGITS  # a radius this close above `at` may have been rounded below it
    assert drawn > np.count_nonzero(proved >= at + unit) / len(radii) - unit


def test_points_of_the_hand_run(hand_run: RunSummary) -> None:
    points = input_points(hand_run, "truncated")
    assert points.index == (0, 1, 2, 3, 5, 6)  # 4 and 7 are certified for another class
    assert points.baseline == (0.5, 1.0, 0.25, 2.0, 0.0, 0.0)
    assert points.radius == (0.6999, 1.0, 0.2, 2.5, 0.0, 0.2999)  # the floats 0.7 and 0.3 lie below
    assert points.gain == (0.2, 0.0, -0.05, 0.5, 0.0, 0.3)
    assert points.p == (0.9, 0.9, 0.9, 0.9, 0.4, 0.9)


def test_distribution_of_the_estimates_of_the_hand_run(hand_run: RunSummary) -> None:
    curve = probability_curve(hand_run)
    assert curve.inputs == 8
    assert curve.p[1:] == (0.4, 0.9)
    assert 0.1 <= curve.p[0] < 0.15
    assert curve.share == (0.125, 0.25, 1.0)


def test_curves_of_noise_norms_that_no_axis_shows_together_are_left_out(
    hand_run: RunSummary,
) -> None:
    here = radial_accuracy(hand_run)
    far = replace(here, norm=tuple(norm + 1000 for norm in here.norm))
    near = replace(here, norm=tuple(norm + 0.01 for norm in here.norm))
    assert on_one_axis([here, near]) == (here, near)
    assert on_one_axis([here, far]) == ()
    assert on_one_axis([]) == ()


def test_radial_accuracy_uses_the_bins_of_the_law(hand_run: RunSummary) -> None:
    radial = radial_accuracy(hand_run)
    assert radial.inputs == 6
    assert len(radial.norm) == HISTOGRAM_BINS
    assert hand_run.law is not None
    middle = hand_run.law.radial_cdf(np.array(radial.norm))
    # Norms are rounded down by at most 1e-4, where the density is below 1.
    assert np.allclose(middle, (np.arange(64) + 0.5) / 64, atol=1e-4)
    assert set(radial.mean) == {0.8166}  # (5 * 0.9 + 0.4) / 6
    assert radial.low[0] <= radial.mean[0] <= radial.high[0]


def test_gains_start_at_zero_and_end_at_the_largest_radius(hand_run: RunSummary) -> None:
    (band,) = gain_bands(hand_run, Resampling(100))
    assert (band.radius[0], band.radius[-1]) == (0.0, 2.5)
    assert (band.gain[0], band.gain[-1]) == (0.125, 0.125)


def test_a_run_without_votes_or_rivals_has_fewer_series(make_result) -> None:  # type: ignore[no-untyped-def]
    seen = make_result(0, {"np": 1.0})
    bare = RunResult(SampledInput(0, 1, 1, 1), seen.certificates)
    series = figure_series([RunSummary.from_results("bare", [bare])], Resampling(100))
    assert len(series.curves) == 1
    others = (series.gains, series.points, series.probabilities, series.radial)
    assert others == ((), (), (), ())
