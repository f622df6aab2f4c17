"""Public logs, imported and certified again: a row below its record has one without a proof."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from dsrs import Interval, certify_rows, least_probability
from dsrs.exchange import import_rows
from dsrs.exchange.fallback import FORGOTTEN
from dsrs.exchange.log_tables import logs_in, rows_of_logs
from dsrs.laws import GeneralizedGaussian


@pytest.mark.slow
def test_only_rows_that_forgot_a_miss_end_below_their_record(original_logs: Path) -> None:
    model = original_logs / "sampling" / "consistency-mnist-380-0.50.pth"
    (logs,) = logs_in(model)
    rows = [row for row in rows_of_logs(logs) if row.method == "truncated"]
    assert len(rows) == 1000
    law = GeneralizedGaussian(784, 0.5, 380)
    cells = [
        {
            name: "" if value is None else str(value)
            for name, value in dataclasses.asdict(row).items()
        }
        | {"d": "784"}
        for row in rows
    ]
    below = 0
    for row, outcome in zip(rows, certify_rows(iter(cells)), strict=True):
        assert outcome.certificate is not None
        assert row.radius is not None
        if outcome.certificate.radius < row.radius - 1e-4:
            below += 1
            assert row.note == FORGOTTEN
            assert row.p_lower is not None
            p = Interval(row.p_lower, 1.0)
            assert least_probability(law, p, radius=row.radius - 1e-6).dual_bound < 0.4999
    assert below == 81
    assert import_rows(model / "general-gaussian-380-0.5-50000-0.0005.txt")[0].d == 784
