"""Laws with many parameters in the store and in tables."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.certifying import certify_run, sample_input
from dsrs.classifiers import from_callable
from dsrs.datasets import Dataset
from dsrs.exchange import export_run, import_rows
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, Weighted, parse_additional_law
from dsrs.methods import Plan, subject_of
from dsrs.noise import NoiseLaw, Stream
from dsrs.proofs import Certificate, Dual, Interval, Observation, Step, certify_row, find_flaw
from dsrs.store import RunResult, open_run, start_run
from dsrs.votes import SampledInput, Votes

BASE = GeneralizedGaussian(784, 0.5, 380)
TAILORED = Weighted(
    BASE, (1 / 3, 12.0, 12.0, 14.0, 14.0, 30.0), (0.1, 1 / 7, -math.inf, -math.inf, -2.0, -9.0), 0.5
)


def votes(law: NoiseLaw, total: int, hits: int, start: int = 0) -> Votes:
    rest = (0,) * 63
    return Votes(
        Stream("estimation", law), start, (total - hits, hits), (total, *rest), (hits, *rest)
    )


def result(law: AdditionalLaw) -> RunResult:
    """A result under this additional law, with numbers that need all their digits."""
    seen = Observation(law, Interval(0.1 + 0.2, 1 - 1 / 3))
    made = Certificate(
        law=BASE,
        radius=1 / 3,
        np_radius=0.1,
        status="certified",
        proof=Dual(Interval(0.7, 0.9), (seen,), (Step(1 / 3, (0.1, 0.3), 0.5000001),)),
    )
    both = votes(law.base, 500, 400), votes(law, 500, 490)
    sampled = SampledInput(7, 1, 1, 1, both, model="m1", input="i7")
    plan = Plan.from_dict(config(law.text)["plan"])
    made = replace(made, subject=subject_of(sampled, plan, law.text))
    return RunResult(sampled, {law.kind: made})


def config(*methods: str) -> dict[str, Any]:
    return {
        "plan": Plan(BASE, methods=methods, n=1000, grid=None).to_dict(),
        "model": {"description": "ONNX model net.onnx", "fingerprint": "m1"},
        "data": {"name": "digits", "fingerprint": "d1", "labels": True},
        "device": "cpu",
        "versions": {},
    }


@pytest.fixture
def tailored_run(tmp_path: Path) -> Path:
    with start_run(tmp_path / "tailored", config(TAILORED.text)) as writer:
        writer.add(result(TAILORED))
    return tmp_path / "tailored"


def test_a_weighted_law_is_kept_without_loss(tailored_run: Path) -> None:
    with open_run(tailored_run) as run:
        assert run.result(7) == result(TAILORED)
        (text,) = run.plan.methods
    assert parse_additional_law(text, BASE) == TAILORED


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_weighted_law_travels_in_tables(tailored_run: Path, tmp_path: Path, form: str) -> None:
    with open_run(tailored_run) as run:
        export_run(run, tmp_path / "rows", form)
    (row,) = import_rows(tmp_path / "rows", form)
    assert (row.d, row.k, row.sigma, row.eta) == (784, 380.0, 0.5, 2.0)
    assert row.q_law is not None
    assert parse_additional_law(row.q_law, BASE) == TAILORED
    assert (row.q_lower, row.q_upper) == (0.1 + 0.2, 1 - 1 / 3)


def test_votes_under_a_weighted_law_come_from_its_shells() -> None:
    law = GeneralizedGaussian(16, 0.5, 3.0)
    hollow = Weighted(law, (4.0, 6.0), (0.0, 1.0))
    plan = Plan(law, methods=(hollow.text,), n=8000)
    classifier = from_callable(lambda batch: np.zeros(len(batch), np.int64), (16,), 2)
    sampled = sample_input(classifier, np.zeros(16, np.float32), plan, 0, 0)
    seen = sampled.first(Stream("estimation", hollow), 4000)
    edges = law.radial_quantile(np.arange(65) / 64)
    expected = 4000 * np.diff(hollow.radial_cdf(edges))
    counts = np.array(seen.trials)
    assert np.all(counts[expected == 0] == 0)
    assert np.all(np.abs(counts - expected) <= 5 * np.sqrt(expected) + 1e-9)


def test_a_weighted_law_goes_all_the_way(tmp_path: Path) -> None:
    """Sampled, certified and kept in a run; exported, imported and certified again."""
    law = GeneralizedGaussian(16, 0.5, 3.0, 1.5)
    inner = Weighted(law, (4.0, 12.0), (0.0, -5.0), 0.0, -9.0)
    plan = Plan(law, methods=(inner.text,), n=4000)
    dataset = Dataset.from_arrays(np.zeros((2, 16), np.float32), [0, 0])
    edge = float(law.radial_quantile(0.85))
    classifier = from_callable(
        lambda batch: (np.linalg.norm(batch, axis=1) > edge).astype(np.int64), (16,), 2, name="ball"
    )
    certify_run(classifier, dataset, plan, [0, 1], tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        export_run(run, tmp_path / "rows.csv", "csv", "weighted")
        made = run.result(1).certificates["weighted"]
    assert made.observations[0].law == inner
    assert find_flaw(made) is None
    assert made.np_radius is not None
    assert made.radius > made.np_radius > 0
    row = dataclasses.asdict(import_rows(tmp_path / "rows.csv")[1])
    assert certify_row(row) == replace(made, subject=None)
