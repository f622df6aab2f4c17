"""Laws with many parameters in the store and in tables, and stores of the first format."""

from __future__ import annotations

import dataclasses
import json
import math
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dsrs.sampling.plan import SamplingPlan
from dsrs.sampling.sample import sample_input

from dsrs.classifiers import from_callable
from dsrs.errors import InvalidInput, StoreError
from dsrs.laws import GeneralizedGaussian, Weighted, parse_additional_law
from dsrs.records import Interval, Observation
from dsrs.runs import RunResult, open_run, start_run
from dsrs.runs.formats.exporting import export_run
from dsrs.runs.formats.importing import import_rows
from dsrs.runs.reader import content_of
from dsrs.runs.schema import STORE_NAME, checksum_of

BASE = GeneralizedGaussian(784, 0.5, 380)
TAILORED = Weighted(
    BASE, (1 / 3, 12.0, 12.0, 14.0, 14.0, 30.0), (0.1, 1 / 7, -math.inf, -math.inf, -2.0, -9.0), 0.5
)
MakeResult = Callable[..., RunResult]


def tailored_result(made: RunResult) -> RunResult:
    """A result whose additional law is TAILORED, with numbers that need all their digits."""
    votes = dataclasses.replace(made.votes[2], stream="q:weighted", q=TAILORED)
    seen = Observation(TAILORED, Interval(0.1 + 0.2, 1 - 1 / 3))
    certificate = dataclasses.replace(made.certificates["truncated"], additional=(seen,))
    sampled = dataclasses.replace(made.sampled, votes=(*made.votes[:2], votes))
    return dataclasses.replace(made, sampled=sampled, certificates={"weighted": certificate})


@pytest.fixture
def tailored_run(tmp_path: Path, config: dict[str, Any], make_result: MakeResult) -> Path:
    plan = SamplingPlan(BASE, n=1000, additional=(TAILORED.text,), neyman_pearson=False)
    with start_run(tmp_path / "tailored", config | {"plan": plan.to_dict()}) as writer:
        writer.add(tailored_result(make_result(1)))
    return tmp_path / "tailored"


def test_a_weighted_law_is_kept_without_loss(tailored_run: Path, make_result: MakeResult) -> None:
    with open_run(tailored_run) as run:
        assert run.result(1) == tailored_result(make_result(1))
        assert run.plan.methods == ("weighted",)
        assert parse_additional_law(run.plan.additional[0], run.plan.law) == TAILORED


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_weighted_law_travels_in_tables(tailored_run: Path, tmp_path: Path, form: str) -> None:
    with open_run(tailored_run) as run:
        export_run(run, tmp_path / "rows", form)
    (row,) = import_rows(tmp_path / "rows", form)
    assert (row.d, row.k, row.sigma, row.eta) == (784, 380.0, 0.5, 2.0)
    assert row.q_law is not None
    assert parse_additional_law(row.q_law, BASE) == TAILORED
    assert (row.q_lower, row.q_upper) == (0.1 + 0.2, 1 - 1 / 3)


def test_logs_of_the_original_scripts_have_no_place_for_it(
    tailored_run: Path, tmp_path: Path
) -> None:
    with open_run(tailored_run) as run, pytest.raises(InvalidInput, match="truncated and rescaled"):
        export_run(run, tmp_path / "logs", "dsrs-logs")


def test_votes_under_a_weighted_law_come_from_its_shells() -> None:
    law = GeneralizedGaussian(16, 0.5, 3.0)
    hollow = Weighted(law, (4.0, 6.0), (0.0, 1.0))
    plan = SamplingPlan(law, n=8000, additional=(hollow.text,), neyman_pearson=False)
    classifier = from_callable(lambda batch: np.zeros(len(batch), np.int64), (16,), 2)
    seen = sample_input(classifier, np.zeros(16, np.float32), plan, 0, 0).stream("q:weighted")
    assert seen is not None
    assert seen.q == hollow
    edges = law.radial_quantile(np.arange(65) / 64)
    expected = 4000 * np.diff(hollow.radial_cdf(edges))
    counts = np.array(seen.trials)
    assert np.all(counts[expected == 0] == 0)
    assert np.all(np.abs(counts - expected) <= 5 * np.sqrt(expected) + 1e-9)


def test_a_column_pair_of_the_first_version_is_read(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("index,q_shape,q_value\n3,rescaled,0.4\n4,,\n")
    rows = import_rows(tmp_path / "old.csv")
    assert [row.q_law for row in rows] == ["rescaled:0.4", None]


def as_format_1(folder: Path) -> None:
    """Rewrite a store as the first version wrote it: a law is a word and a number."""
    connection = sqlite3.connect(folder / STORE_NAME)
    (config,) = connection.execute("SELECT config FROM run").fetchone()
    fields = json.loads(config)
    del fields["plan"]["law"]["eta"]
    old = json.dumps(fields)
    connection.execute("UPDATE run SET config = ?, checksum = ?", (old, checksum_of(old)))
    for (index,) in connection.execute("SELECT idx FROM input").fetchall():
        for position, body in connection.execute(
            "SELECT position, body FROM votes WHERE idx = ?", (index,)
        ).fetchall():
            votes = json.loads(body)
            if votes["q"]:
                votes["q"] = list(votes["q"].values())
            connection.execute(
                "UPDATE votes SET body = ? WHERE idx = ? AND position = ?",
                (json.dumps(votes), index, position),
            )
        for position, body in connection.execute(
            "SELECT position, body FROM certificate WHERE idx = ?", (index,)
        ).fetchall():
            made = json.loads(body)
            del made["law"]["eta"]
            made["additional"] = [
                dict(zip(("kind", "value"), seen["law"].values(), strict=True)) | {"q": seen["q"]}
                for seen in made["additional"]
            ]
            connection.execute(
                "UPDATE certificate SET body = ? WHERE idx = ? AND position = ?",
                (json.dumps(made), index, position),
            )
        row = connection.execute(
            "SELECT label, predicted, target, stopped, seconds, thumbnail FROM input WHERE idx = ?",
            (index,),
        ).fetchone()
        votes = connection.execute(
            "SELECT body FROM votes WHERE idx = ? ORDER BY position", (index,)
        ).fetchall()
        certificates = connection.execute(
            "SELECT method, status, radius, body FROM certificate WHERE idx = ? ORDER BY position",
            (index,),
        ).fetchall()
        checksum = checksum_of(content_of([index, *row[:-1]], votes, certificates), row[-1])
        connection.execute("UPDATE input SET checksum = ? WHERE idx = ?", (checksum, index))
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()


def test_a_store_of_the_first_format_is_read_but_not_continued(
    run_folder: Path, config: dict[str, Any], make_result: MakeResult
) -> None:
    as_format_1(run_folder)
    with open_run(run_folder) as run:
        assert list(run.results()) == [make_result(index) for index in range(0, 99, 11)]
        assert run.plan.law == BASE
    before = (run_folder / STORE_NAME).read_bytes()
    with pytest.raises(StoreError, match=r"format 1 .* not continued"):
        start_run(run_folder, config)
    assert (run_folder / STORE_NAME).read_bytes() == before
