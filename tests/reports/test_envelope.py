from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dsrs.errors import InvalidInput, StoreMismatch
from dsrs.laws import GeneralizedGaussian
from dsrs.reports import Resampling, RunSummary, check_comparable, envelopes, make_report
from dsrs.store import RunResult

FAST = Resampling(200)
Make = Callable[..., RunResult]


def at_sigma(
    make_result: Make,
    sigma: float,
    radii: list[float],
    name: str | None = None,
    family: str = "",
    first: int = 0,
    **about: Any,
) -> RunSummary:
    law = GeneralizedGaussian(16, sigma, 2.0)
    results = [
        make_result(first + i, {"np": r, "truncated": 2 * r}, law=law, **about)
        for i, r in enumerate(radii)
    ]
    return RunSummary.from_results(name or f"sigma {sigma}", results, family=family)


def test_the_best_run_counts_at_each_radius(make_result: Make) -> None:
    small = at_sigma(make_result, 0.25, [0.5, 0.5, 0.5, 0.5])
    large = at_sigma(make_result, 1.0, [0.1, 0.1, 0.1, 2.0])
    (found,) = envelopes([small, large], [0.5, 1.0, 1.5], FAST)
    assert [one.value for one in found.methods["np"]] == [1, Fraction(1, 4), Fraction(1, 4)]
    assert [one.value for one in found.methods["truncated"]] == [1, 1, Fraction(1, 4)]
    assert [one.value for one in found.gains["truncated"]] == [0, Fraction(3, 4), 0]


def test_the_envelope_compares_shared_inputs_only(make_result: Make) -> None:
    small = at_sigma(make_result, 0.25, [0.5, 0.5, 0.5], first=0)
    large = at_sigma(make_result, 1.0, [2.0, 2.0, 0.1, 0.1], first=2)
    (found,) = envelopes([small, large], [0.5], FAST)
    assert found.size == 1  # input 2
    apart = at_sigma(make_result, 1.0, [1.0], first=9)
    assert envelopes([small, apart], [0.5], FAST) == ()
    named = [replace(run, family="gaussian") for run in (small, apart)]
    with pytest.raises(StoreMismatch, match="'gaussian' have no input in common"):
        envelopes(named, [0.5], FAST)


def test_families_and_equal_sigma_are_not_mixed(make_result: Make) -> None:
    one = at_sigma(make_result, 0.25, [0.5], "one", family="gaussian")
    two = at_sigma(make_result, 0.5, [0.5], "two", family="consistency")
    three = at_sigma(make_result, 0.25, [0.6], "three", family="gaussian")
    assert envelopes([one, two, three], [0.5], FAST) == ()


def test_the_envelope_curve_is_the_highest_of_the_curves(make_result: Make) -> None:
    small = at_sigma(make_result, 0.25, [0.5, 0.5, 0.5, 0.75])
    large = at_sigma(make_result, 1.0, [0.1, 0.1, 0.1, 2.0])
    series = make_report([small, large], [0.5], FAST).series
    curve = next(curve for curve in series.envelopes if curve.method == "np")
    assert curve.radius == (0.0, 0.5, 2.0)
    assert curve.accuracy == (1.0, 1.0, 0.25)


def test_runs_that_do_not_belong_together_are_refused(hand_run, make_result) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInput, match="at least one run"):
        check_comparable([])
    with pytest.raises(InvalidInput, match="two runs are called 'hand'"):
        check_comparable([hand_run, hand_run])
    results = [make_result(0, {"np": 1.0})]
    other = RunSummary.from_results("other", results, data_fingerprint="sha256:else")
    with pytest.raises(StoreMismatch, match="different data"):
        check_comparable([hand_run, other])
    relabelled = RunSummary.from_results("other", [make_result(0, {"np": 1.0}, label=3)])
    with pytest.raises(StoreMismatch, match="input 0 has label 1 in 'hand' but 3 in 'other'"):
        check_comparable([hand_run, relabelled])
    wide = GeneralizedGaussian(32, 1.0)
    wider = RunSummary.from_results("other", [make_result(0, {"np": 1.0}, law=wide)])
    with pytest.raises(StoreMismatch, match="d = 16 and 32"):
        check_comparable([hand_run, wider])
