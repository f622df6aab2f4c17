"""Certified accuracy against counts made by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsrs.measures import MOST_SHOWN_RADII, certified_accuracy, radius_grid
from dsrs.reports import RunSummary, make_report
from dsrs.store import RunResult

MakeResult = Callable[..., RunResult]


def with_radius(result: RunResult, radius: float, target: int) -> RunResult:
    certificate = dataclasses.replace(
        result.certificates["np"],
        radius=radius,
        status="certified" if radius else "abstained",
    )
    sampled = dataclasses.replace(result.sampled, target=target)
    return RunResult(sampled, {"np": certificate})


def test_shares_are_counted_by_hand(make_result: MakeResult) -> None:
    results = [
        with_radius(make_result(1), 0.5, target=1),
        with_radius(make_result(3), 1.0, target=1),
        with_radius(make_result(5), 0.0, target=1),  # abstained
        with_radius(make_result(7), 2.0, target=0),  # certified, but for a wrong class
    ]
    (found,) = certified_accuracy(results, [0.0, 0.5, 0.75, 1.5])
    assert found.correct == (2, 2, 1, 0)
    assert found.share(0) == 0.5
    assert (found.total, found.abstained) == (4, 1)
    assert found.average_radius == (0.5 + 1.0) / 4
    assert found.to_dict()["certified_accuracy"][2] == {"radius": 0.75, "accuracy": 0.25}


def test_undecided_inputs_are_neither_certified_nor_abstained(make_result: MakeResult) -> None:
    abstained = with_radius(make_result(5), 0.0, target=1)
    undecided = RunResult(
        abstained.sampled,
        {"np": dataclasses.replace(abstained.certificates["np"], status="undecided")},
    )
    missing = RunResult(abstained.sampled, {})
    results = [with_radius(make_result(1), 0.5, target=1), abstained, undecided, missing]
    (found,) = certified_accuracy(results, [0.0])
    assert found.correct == (1,)
    assert (found.abstained, found.undecided, found.total) == (2, 1, 4)
    assert found.average_radius == 0.125


def test_runs_and_reports_agree_on_every_input(make_result: MakeResult) -> None:
    results = [make_result(index) for index in range(12)]
    report = make_report([RunSummary.from_results("run", results)], [0.0, 0.5, 1.0])
    lines = {line.method: line for line in report.measures[0].methods}
    for found in certified_accuracy(results, [0.0, 0.5, 1.0]):
        line = lines[found.method]
        shares = [Fraction(count, found.total) for count in found.correct]
        assert [one.value for one in line.certified_accuracy] == shares
        assert line.certified_at_zero.value == shares[0]
        assert line.abstention.value == Fraction(found.abstained, found.total)
        assert float(line.average_radius.value) == pytest.approx(found.average_radius)


def test_without_labels_every_certificate_counts(make_result: MakeResult) -> None:
    (found,) = certified_accuracy([with_radius(make_result(1, labelled=False), 0.5, 0)], [0.5])
    assert found.correct == (1,)


def test_each_method_has_its_row(make_result: MakeResult) -> None:
    found = certified_accuracy([make_result(1), make_result(2)])
    assert [row.method for row in found] == ["np", "truncated", "rescaled"]
    assert len({row.radii for row in found}) == 1


def test_no_results_give_no_rows() -> None:
    assert certified_accuracy([]) == []


@settings(deadline=None)
@given(st.floats(1e-6, 1e6))
def test_the_grid_reaches_the_largest_radius_in_few_round_steps(largest: float) -> None:
    grid = radius_grid(largest)
    assert 2 <= len(grid) <= MOST_SHOWN_RADII
    step = grid[1]
    assert grid[0] == 0
    assert grid[-1] <= largest * (1 + 1e-9)  # the grid is rounded to 12 decimals
    assert largest < grid[-1] + step * (1 + 1e-6)


@pytest.mark.parametrize("largest", [0.0, float("inf")])
def test_a_grid_without_a_scale_is_zero_alone(largest: float) -> None:
    assert radius_grid(largest) == (0.0,)
