from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dsrs.errors import DataError, InvalidInput
from dsrs.reports import Resampling, RunSummary, default_radii, measure_run

GRID = (0.0, 0.25, 0.5, 1.0, 2.0, 2.25)
FAST = Resampling(resamples=200)


def test_numbers_of_the_hand_run(hand_run: RunSummary) -> None:
    measured = measure_run(hand_run, GRID, FAST)
    baseline, truncated = measured.methods
    assert [one.value * 8 for one in baseline.certified_accuracy] == [4, 4, 3, 2, 1, 0]
    assert [one.value * 8 for one in truncated.certified_accuracy] == [5, 4, 3, 2, 1, 1]
    assert [one.value * 8 for one in measured.gains[0].certified_accuracy] == [1, 0, 0, 0, 0, 1]
    assert measured.clean_accuracy is not None
    assert measured.clean_accuracy.value == Fraction(6, 8)
    assert baseline.average_radius.value == Fraction(375, 800)
    exact = sum(map(Fraction, (0.7, 1.0, 0.2, 2.5, 0.3)))
    assert truncated.average_radius.value == exact / 8
    assert [line.abstention.value for line in measured.methods] == [Fraction(2, 8)] * 2
    assert measured.undecided == {"np": 1, "truncated": 0}


def test_a_certificate_for_another_class_does_not_count(make_result) -> None:  # type: ignore[no-untyped-def]
    run = RunSummary.from_results("wrong", [make_result(0, {"np": 3.0}, label=1, predicted=2)])
    measured = measure_run(run, [0.0], FAST)
    assert measured.methods[0].certified_accuracy[0].value == 0
    assert measured.methods[0].average_radius.value == 0


def test_interval_ends_of_accuracies_are_counts(hand_run: RunSummary) -> None:
    measured = measure_run(hand_run, GRID, FAST)
    for line in (*measured.methods, *measured.gains):
        for one in line.certified_accuracy:
            assert one.low <= one.value <= one.high
            assert (one.low * 8).denominator == (one.high * 8).denominator == 1


def test_the_same_seed_gives_the_same_numbers(hand_run: RunSummary) -> None:
    again = [measure_run(hand_run, GRID, Resampling(200, seed=seed)) for seed in (3, 3, 4)]
    assert again[0] == again[1]
    assert again[0] != again[2]


def test_a_gain_is_paired_by_input(make_result) -> None:  # type: ignore[no-untyped-def]
    """Each input gains 0.1: certain, although the radii themselves vary widely."""
    radii = np.random.default_rng(5).uniform(0.1, 3.0, 50)
    results = [make_result(i, {"np": r, "truncated": r + 0.125}) for i, r in enumerate(radii)]
    measured = measure_run(RunSummary.from_results("shifted", results), [1.0], FAST)
    gain = measured.gains[0].average_radius
    assert float(gain.high - gain.low) < 1e-12
    assert gain.sign == 1
    spread = measured.methods[0].average_radius
    assert float(spread.high - spread.low) > 0.3


def test_a_lone_gain_is_not_shown_as_one(make_result) -> None:  # type: ignore[no-untyped-def]
    results = [make_result(i, {"np": 1.0, "truncated": 1.0}) for i in range(99)]
    results.append(make_result(99, {"np": 1.0, "truncated": 2.0}))
    measured = measure_run(RunSummary.from_results("lone", results), [1.5], FAST)
    gain = measured.gains[0].certified_accuracy[0]
    assert (gain.value, gain.sign) == (Fraction(1, 100), 0)


def test_a_loss_is_shown_as_one(make_result) -> None:  # type: ignore[no-untyped-def]
    results = [make_result(i, {"np": 1.0, "truncated": 0.5 + (i % 2)}) for i in range(100)]
    measured = measure_run(RunSummary.from_results("loss", results), [0.75], FAST)
    gain = measured.gains[0].certified_accuracy[0]
    assert (gain.value, gain.sign) == (Fraction(-1, 2), -1)


@pytest.mark.parametrize(
    ("radii", "message"),
    [([], "at least one"), ([-0.5], ">= 0"), ([float("nan")], ">= 0"), ([1.0, 1.0], "increase")],
)
def test_bad_radii_are_refused(hand_run: RunSummary, radii: list[float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        measure_run(hand_run, radii, FAST)


def test_default_radii_are_round_and_cover_the_largest(make_result) -> None:  # type: ignore[no-untyped-def]
    for largest in (0.013, 0.3, 1.0, 2.99, 3.1, 77.0, 489.9):
        run = RunSummary.from_results("one", [make_result(0, {"np": largest})])
        grid = default_radii([run])
        step = grid[0]
        assert 4 <= len(grid) <= 12
        assert grid[-1] <= largest < grid[-1] + step
    nothing = RunSummary.from_results("none", [make_result(0, {"np": "abstained"})])
    assert default_radii([nothing]) == (0.0,)


def test_results_that_cannot_be_reported_are_refused(make_result) -> None:  # type: ignore[no-untyped-def]
    good = make_result(0, {"np": 1.0, "truncated": 1.0})
    cases = {
        "no finished input": [],
        "twice": [good, good],
        "for all inputs or for none": [
            good,
            make_result(1, {"np": 1.0, "truncated": 1.0}, label=None),
        ],
        "finite radii": [make_result(1, {"np": float("inf")})],
        "no certificate of truncated": [good, make_result(1, {"np": 1.0})],
        "PNG": [make_result(1, {"np": 1.0}, thumbnail=b"GIF89a")],
    }
    for message, results in cases.items():
        with pytest.raises(DataError, match=message):
            RunSummary.from_results("bad", results)
