"""Runs that stop early: what they keep, what they cost, how they continue."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.certifying import certify_run, keep_all, recertify_run
from dsrs.classifiers import Classifier, from_callable
from dsrs.datasets import Dataset
from dsrs.errors import StoreMismatch
from dsrs.exchange import export_run, import_rows
from dsrs.laws import GeneralizedGaussian
from dsrs.measures import certified_accuracy
from dsrs.methods import Plan
from dsrs.proofs import check
from dsrs.reports import read_run
from dsrs.smoothed import SmoothedClassifier
from dsrs.store import open_run, votes_spent

D = 16
LAW = GeneralizedGaussian(D, 0.5)
PLAN = Plan(LAW, ("np",), n=1000, radius=0.3, batch=16)


class Counting:
    """Class 1 where the first value is positive; counts the rows that it ran."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        self.rows += len(batch)
        score = batch.reshape(len(batch), -1)[:, 0]
        return np.stack([-score, score], axis=1)


def counted() -> tuple[Classifier, Counting]:
    counting = Counting()
    model = from_callable(counting, (D,), 2, bounds=(-1.0, 1.0), fingerprint="counting")
    counting.rows = 0  # it was tried when it was wrapped
    return model, counting


def data() -> Dataset:
    images = np.zeros((6, D), dtype=np.float32)
    images[:, 0] = [0.9, 0.35, 0.31, 0.28, 0.0, 0.6]
    labels = np.array([1, 1, 1, 1, 1, 0])
    return Dataset(images=images, labels=labels, name="six", fingerprint="six", bounds=(-1.0, 1.0))


def run(path: Path, plan: Plan = PLAN, workers: int = 2) -> int:
    model, counting = counted()
    certify_run(model, data(), plan, range(6), path, workers=workers)
    return counting.rows


def contents(path: Path) -> list[object]:
    with open_run(path) as opened:
        return [
            (one.index, one.votes, one.queries, one.certificates["np"]) for one in opened.results()
        ]


def test_a_run_that_decides_a_radius(tmp_path: Path) -> None:
    rows = run(tmp_path / "run", workers=1)
    with open_run(tmp_path / "run") as opened:
        results = list(opened.results())
        spent = votes_spent(results, opened.plan)
        export_run(opened, tmp_path / "run.csv", "csv")
        export_run(opened, tmp_path / "run.tsv", "tsv")
    found = [one.certificates["np"] for one in results]
    assert found[0].status == "certified"
    assert found[0].radius >= 0.3
    assert [found[4].status, found[5].status] == ["short", "short"]
    assert all(check(one) for one in found)
    assert results[0].queries is not None
    assert results[0].queries <= 64 < 1000
    # Padding and all, but for the two passes that tried whether the model is a function.
    assert (spent.total, spent.most) == (rows - 2 * 64, 1000)
    (accuracy,) = certified_accuracy(results, (0.3,))
    assert accuracy.short == sum(one.status == "short" for one in found)
    assert accuracy.abstained == 0
    for name in ("run.csv", "run.tsv"):
        back = import_rows(tmp_path / name)
        assert [one.radius for one in back] == [one.radius for one in found]
    assert [one.status for one in import_rows(tmp_path / "run.csv")] == [
        one.status for one in found
    ]
    assert [one.queries for one in import_rows(tmp_path / "run.csv")] == [
        one.queries for one in results
    ]
    summary = read_run(tmp_path / "run")
    assert summary.spent == spent
    assert "times fewer than 1,000 an input" in spent.text()


def test_workers_and_a_stop_change_nothing(tmp_path: Path) -> None:
    run(tmp_path / "one", workers=1)
    run(tmp_path / "four", workers=4)
    assert contents(tmp_path / "one") == contents(tmp_path / "four")


def test_more_votes_for_a_run_are_refused_with_the_reason(tmp_path: Path) -> None:
    run(tmp_path / "run")
    with pytest.raises(
        StoreMismatch, match="cannot count towards another n: a bound holds"
    ) as told:
        run(tmp_path / "run", PLAN.replace(n=5000))
    assert "plan.n: stored 1000, given 5000" in str(told.value)
    with pytest.raises(StoreMismatch) as told:
        run(tmp_path / "run", PLAN.replace(seed=3))
    assert "cannot count" not in str(told.value)


def test_another_alpha_is_certified_at_the_looks_that_were_reached(tmp_path: Path) -> None:
    run(tmp_path / "run")
    (strict,) = recertify_run(tmp_path / "run", alpha=1e-9, output=tmp_path / "strict")
    (same,) = recertify_run(tmp_path / "run", output=tmp_path / "same")
    assert strict.average_radius < same.average_radius
    with open_run(tmp_path / "run") as old, open_run(tmp_path / "same") as new:
        assert [one.certificates for one in old.results()] == [
            one.certificates for one in new.results()
        ]


def test_a_stop_keeps_what_is_finished() -> None:
    kept: list[int] = []
    returned: list[int] = []

    def work(index: int, stop: Event) -> int:
        if index == 3:
            while len(returned) < 3:
                time.sleep(0.001)
            time.sleep(0.05)  # a future is done a moment after its work returned
            raise KeyboardInterrupt
        if index > 3:
            stop.wait(30)
        returned.append(index)
        return index

    with pytest.raises(KeyboardInterrupt):
        keep_all(work, kept.append, range(9), workers=2)
    assert sorted(kept)[:3] == [0, 1, 2]
    assert 3 not in kept


def test_an_interrupted_keep_is_kept_in_the_end() -> None:
    kept: list[int] = []
    calls: list[int] = []

    def keep(index: int) -> None:
        calls.append(index)
        if len(calls) == 2:
            raise KeyboardInterrupt
        kept.append(index)

    with pytest.raises(KeyboardInterrupt):
        keep_all(lambda index, _: index, keep, range(4), workers=1)
    assert calls[1] in kept


def test_a_clear_class_is_predicted_from_tens_of_votes() -> None:
    model, counting = counted()
    smoothed = SmoothedClassifier(model, LAW, method="np", radius=0.3, seed=0, workers=1)
    x = np.zeros(D, dtype=np.float32)
    x[0] = 1.0
    smoothed.predict(x)  # the first one also tries whether the model is a function
    counting.rows = 0
    found = smoothed.predict(x, n=10_000)
    assert (found.status, found.label) == ("predicted", 1)
    assert sum(found.counts) == counting.rows <= 64
    assert smoothed.certify(x).status == "certified"
    x[0] = 0.0
    close = smoothed.predict(x, n=300)
    assert close.status == "abstained"
    assert sum(close.counts) == 300


def test_wrong_predictions_stay_below_alpha() -> None:
    model, _ = counted()
    x = np.zeros(D, dtype=np.float32)
    wrong = 0
    for seed in range(60):
        smoothed = SmoothedClassifier(model, LAW, seed=seed, workers=1, method="np")
        wrong += smoothed.predict(x, n=200, alpha=0.3).status == "predicted"
    # Both classes are equally likely, so every answer is wrong for one of them; 36 of 60 or more
    # would be seen once in a million times at alpha.
    assert wrong < 36
