"""Certificates of recorded boxes and of the demo: nothing refuted, next to nothing undecided."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flint")

from dsrs import certify_rows
from dsrs.audit import Verdict
from dsrs.audit import check as check_one
from dsrs.cli.main import main

REFERENCE = Path(__file__).parents[3] / "shared" / "reference"
recorded = pytest.mark.skipif(
    not (REFERENCE / "double_sampling.csv.gz").exists(),
    reason="the recorded certificates are not at ../shared/reference",
)
SECONDS_A_STEP = 2.0  # of the processor


def verdicts(double: int, alone: int) -> list[tuple[dict[str, str], Verdict]]:
    """Of seeded rows, as many from both tables."""
    rows = []
    for name, count in (("double_sampling", double), ("neyman_pearson", alone)):
        with gzip.open(REFERENCE / f"{name}.csv.gz", "rt") as file:
            table = list(csv.DictReader(file))
        chosen = np.random.default_rng(14).choice(len(table), count, replace=False)
        rows += [table[place] for place in chosen]
    found = []
    for row, outcome in zip(rows, certify_rows(rows), strict=True):
        assert outcome.certificate is not None, outcome.error
        found.append((row, check_one(outcome.certificate)))
    return found


def check(found: list[tuple[dict[str, str], Verdict]]) -> None:
    words = Counter(verdict.word for _, verdict in found)
    assert words["refuted"] == 0
    assert words["undecided"] <= 0.01 * len(found)
    for _, verdict in found:
        assert verdict.surplus is None or verdict.surplus > 0
        # The radius of P alone is one more step.
        assert verdict.seconds < SECONDS_A_STEP * (verdict.steps + 1)


@recorded
def test_a_dozen_recorded_rows() -> None:
    check(verdicts(9, 3))


@recorded
@pytest.mark.slow
def test_two_thousand_recorded_rows() -> None:
    found = verdicts(1600, 400)
    check(found)
    seen = {(row["d"], row.get("q_shape") or "P alone") for row, _ in found}
    shapes = {"truncated", "rescaled", "P alone"}
    assert seen == {(d, shape) for d in ("784", "3072", "150528") for shape in shapes}


@pytest.mark.slow
def test_every_certificate_of_the_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    assert main(["demo", "--output", str(tmp_path / "demo"), "--quiet"]) == 0
    # Votes of a look at other images certify nothing: there is nothing to verify in them.
    for name, code in (("usual", 0), ("tuned", 0), ("look", 3)):
        capsys.readouterr()
        assert main(["check", str(tmp_path / "demo" / name), "--quiet"]) == code
        said = capsys.readouterr().out
        assert " 0 refuted, 0 undecided" in said, said
