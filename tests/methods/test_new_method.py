"""The door for new methods: one file and one line of the registry, through a whole run."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from dsrs.certifying import certify_run, recertify_run
from dsrs.classifiers import from_callable
from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput
from dsrs.exchange import export_run, import_rows
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import METHODS, Plan, methods_of
from dsrs.noise import Stream
from dsrs.proofs import check
from dsrs.reports import read_run
from dsrs.smoothed import SmoothedClassifier
from dsrs.store import open_run
from dsrs.votes import ESTIMATION
from methods.hoeffding import ENTRY

LAW = GeneralizedGaussian(16, 0.5, 4)


def bright(batch: np.ndarray) -> np.ndarray:
    score = batch.reshape(len(batch), -1).mean(axis=1) - np.float32(0.5)
    return np.stack([-score, score], axis=1)


CLASSIFIER = from_callable(bright, (1, 4, 4), 2)
IMAGES = np.stack([np.full((4, 4), mean, np.float32) for mean in (0.7, 0.2)])


@pytest.fixture
def run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(METHODS, "hoeffding", ENTRY)
    plan = Plan(LAW, ("np", "hoeffding", "truncated:0.5"), n=600, batch=64)
    data = Dataset.from_arrays(IMAGES, np.array([1, 0]))
    certify_run(CLASSIFIER, data, plan, range(2), tmp_path / "run")
    return tmp_path / "run"


def test_it_certifies_beside_the_others(run_folder: Path) -> None:
    with open_run(run_folder) as run:
        results = list(run.results())
    for result in results:
        # It asks for the votes that Neyman-Pearson has, so none are taken twice.
        assert result.sampled.taken(Stream(ESTIMATION, LAW)) == 600
        votes = result.sampled.first(Stream(ESTIMATION, LAW), 600)
        made = result.certificates["hoeffding"]
        slack = math.sqrt(math.log(1000) / 1200)
        assert made.known_of_p.lower == pytest.approx(votes.successes / 600 - slack, abs=1e-12)
        assert 0 < made.radius < result.certificates["np"].radius
        assert check(made)


def test_its_run_is_certified_again_exported_and_reported(run_folder: Path, tmp_path: Path) -> None:
    (bold,) = recertify_run(run_folder, alpha=0.1, method="hoeffding", output=tmp_path / "bold")
    assert bold.method == "hoeffding"
    with open_run(run_folder) as run, open_run(tmp_path / "bold") as again:
        export_run(run, tmp_path / "rows.csv", "csv")
        before = [result.certificates["hoeffding"].radius for result in run.results()]
        after = [result.certificates["hoeffding"].radius for result in again.results()]
    assert all(new > old for new, old in zip(after, before, strict=True))
    rows = import_rows(tmp_path / "rows.csv")
    assert [row.radius for row in rows if row.method == "hoeffding"] == before
    assert read_run(run_folder).methods == ("np", "truncated", "hoeffding")


def test_it_serves_a_smoothed_classifier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "hoeffding", ENTRY)
    smoothed = SmoothedClassifier(CLASSIFIER, LAW, n=600, method="hoeffding")
    assert smoothed.certify(IMAGES[0][None], label=1).radius > 0


def test_an_unknown_name_is_refused_with_the_known_ones(run_folder: Path) -> None:
    with pytest.raises(InvalidInput, match=r"a method is np, .*hoeffding, or a law"):
        methods_of(Plan(LAW, ("hoefding",)))
