"""A table of rows (`dsrs import`, `export`, `recertify`) as the summary of a run."""

from __future__ import annotations

import json
from pathlib import Path

from dsrs.errors import DataError, InvalidInput
from dsrs.exchange import ResultRow, import_rows
from dsrs.laws import short_law_text
from dsrs.proofs import Interval, proof_from_dict, visible_flaw
from dsrs.reports.summary import Answer, Outcome, RunSummary

UNNAMED = "imported"  # the method of a table that names none, such as a TSV log


def read_table(path: Path, name: str, family: str | None = "") -> RunSummary:
    """The rows of a table that has radii."""
    rows: dict[int, dict[str, ResultRow]] = {}
    for row in import_rows(path):
        rows.setdefault(row.index, {})[row.method or UNNAMED] = row
    methods = {method for by_method in rows.values() for method in by_method}
    for index, by_method in rows.items():
        missing = sorted(methods - by_method.keys())
        if missing:
            raise DataError(
                f"{path} has no row of the method {missing[0]} for input {index}; a report "
                "compares methods on the same inputs"
            )
    listed = [row for by_method in rows.values() for row in by_method.values()]
    laws = [row.smoothing_law for row in listed if row.smoothing_law]
    outcomes = [_outcome(index, by_method, path) for index, by_method in rows.items()]
    return RunSummary.from_outcomes(
        name, outcomes, laws, family=family, settings={"table": str(path)}
    )


def _outcome(index: int, rows: dict[str, ResultRow], path: Path) -> Outcome:
    first = next(iter(rows.values()))
    for row in rows.values():
        if (row.label, row.target) != (first.label, first.target) and None not in (
            row.target,
            first.target,
        ):
            raise DataError(f"{path}: the rows of input {index} are about different classes")
    targets = [row.target for row in rows.values() if row.target is not None]
    return Outcome(
        index=index,
        label=first.label,
        predicted=first.predicted,
        target=targets[0] if targets else None,
        answers={method: _answer(row, path) for method, row in rows.items()},
        seconds=first.seconds or 0.0,
        undefended=first.undefended,
    )


def _answer(row: ResultRow, path: Path) -> Answer:
    if row.radius is None:
        raise DataError(
            f"{path}: input {row.index} has no radius; certify the rows first, with "
            "`dsrs recertify`"
        )
    status = row.status or ("certified" if row.radius > 0 else "abstained")
    law = row.smoothing_law
    if row.proof is not None and law is not None:
        try:
            proof = proof_from_dict(json.loads(row.proof), law)
        except (DataError, InvalidInput, ValueError, RecursionError) as error:
            raise DataError(f"{path}: the proof of input {row.index}: {error}") from None
        flaw = visible_flaw(status, row.radius, proof, row.moved or 0.0)
        if flaw is not None:
            raise DataError(f"{path}, input {row.index}: {flaw}")
    return Answer(
        status,
        row.radius,
        _interval(row.p_lower, row.p_upper),
        _interval(row.q_lower, row.q_upper),
        None if row.q_law is None else short_law_text(row.q_law),
    )


def _interval(lower: float | None, upper: float | None) -> Interval | None:
    return None if lower is None or upper is None else Interval(lower, upper)
