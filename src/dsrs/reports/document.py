"""All numbers of a report as one JSON document, for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from dsrs import __version__
from dsrs.confidence import Estimate
from dsrs.measures import floor_number
from dsrs.reports.attacks import SHOWN_DIGITS, attack_fields
from dsrs.reports.caveats import caveats
from dsrs.reports.comparison_tables import comparison_fields
from dsrs.reports.gate_tables import gate_fields
from dsrs.reports.report import Report
from dsrs.reports.tables import CSV_DIGITS, printer, records_of


def json_document(report: Report) -> str:
    """Everything in the tables, as text for programs."""
    return json.dumps(report_fields(report), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def report_fields(report: Report) -> dict[str, Any]:
    """Everything in the tables, for JSON; accuracies are shares, not percent."""
    numbers = []
    for record in records_of(report):
        text = printer(record["gain"], record["quantity"])
        one: Estimate = record.pop("estimate")
        ends = (("value", one.value), ("low", one.low), ("high", one.high))
        numbers.append({**record, **{key: float(text(end, CSV_DIGITS)) for key, end in ends}})
    return {
        "generator": f"dsrs report {__version__}",
        "radii": list(report.radii),
        "bootstrap": asdict(report.resampling),
        "runs": [
            {
                "name": measured.run.name,
                "family": measured.run.family,
                "law": measured.run.law.to_dict() if measured.run.law else None,
                "inputs": measured.run.size,
                "labels": measured.run.labelled,
                "undecided": measured.undecided,
                "undefended_accuracy": _share(measured.run.undefended_accuracy),
                "votes": measured.run.spent.total if measured.run.spent else None,
                "seconds": round(sum(one.seconds for one in measured.run.outcomes), 3),
                "attacked": attack_fields(measured.run),
                "data_fingerprint": measured.run.data_fingerprint,
                "settings": measured.run.settings,
            }
            for measured in report.measures
        ],
        "caveats": caveats(report),
        "numbers": numbers,
        "comparisons": [comparison_fields(one) for one in report.comparisons],
        "gates": [gate_fields(one) for one in report.gates],
    }


def _share(value: Fraction | None) -> float | None:
    return None if value is None else floor_number(value, SHOWN_DIGITS)
