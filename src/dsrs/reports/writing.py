"""The files of a report: its page, tables and figures, and never over something else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from dsrs import __version__
from dsrs.confidence import Estimate
from dsrs.errors import DataError, InvalidInput
from dsrs.exchange import refuse_run_folder
from dsrs.files import write_whole
from dsrs.measures import floor_number
from dsrs.reports.figures import FIGURES, checked_formats, save_figures
from dsrs.reports.gating import SUITE, gate_fields
from dsrs.reports.headers import (
    SHOWN_DIGITS,
    attack_fields,
)
from dsrs.reports.page import GENERATOR, html_page
from dsrs.reports.report import Report, caveats
from dsrs.reports.tables import (
    CSV_DIGITS,
    comparison_fields,
    csv_table,
    latex_table,
    markdown_table,
    printer,
    records_of,
)

# ---- All numbers of a report as one JSON document, for programs


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


# ---- Writing a report without touching anything that is not one

REPORT_TABLES = {
    "summary.md": markdown_table,
    "summary.csv": csv_table,
    "summary.tex": latex_table,
    "summary.json": json_document,
}
MANIFEST = "dsrs-report-files.json"
HEAD_BYTES = 512  # the mark of a page is within its first lines


def check_page_path(path: Path) -> None:
    """Refuse a path that holds something else than a report page, or lies in a run folder."""
    mark = f'name="generator" content="{GENERATOR}'
    _check_path(path, "an HTML file", mark, "a report of this program")


def check_junit_path(path: Path) -> None:
    """Refuse a path that holds something else than a JUnit file of `dsrs gate`."""
    _check_path(path, "an XML file", f'<testsuite name="{SUITE}"', "a file of `dsrs gate`")


def _check_path(path: Path, kind: str, mark: str, own: str) -> None:
    """Refuse a path that holds a file without `mark` in its first lines."""
    refuse_run_folder(path.parent)
    if not path.parent.is_dir():
        raise InvalidInput(f"the folder {path.parent} does not exist; make it, or choose another")
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; expected the name of {kind}")
    if path.exists():
        with _as_data_error(path), path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if mark.encode() not in head:
            raise InvalidInput(f"{path} exists and is not {own}; choose another name")


def write_page(report: Report, path: Path, title: str, *, images: bool = True) -> None:
    """Write the HTML page of a report; an older report under that name is replaced in one step.

    Args:
        report: what `make_report` returned.
        path: the file to write.
        title: the title of the page.
        images: whether the page holds small pictures of the inputs.
    """
    check_page_path(path)
    _write_text(path, html_page(report, title, images=images))


def table_names() -> list[str]:
    """The files that `write_tables` writes."""
    return list(REPORT_TABLES)


def figure_names(formats: Sequence[str]) -> list[str]:
    """The files that `write_figures` may write."""
    checked_formats(formats)
    return [f"{name}.{suffix}" for name in FIGURES for suffix in formats]


def check_folder(folder: Path, names: Iterable[str]) -> None:
    """Refuse a folder where a file of these names exists that no report has written."""
    refuse_run_folder(folder)
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is a file; expected a folder")
    ours = _listed(folder)
    foreign = [name for name in names if (folder / name).exists() and name not in ours]
    if foreign:
        raise InvalidInput(
            f"{folder} has {', '.join(foreign)}, not written by a report; choose another folder"
        )


def write_tables(report: Report, folder: Path) -> list[Path]:
    """Write the tables in all formats into `folder`; return the paths."""
    _claim(folder, REPORT_TABLES)
    paths = [folder / name for name in REPORT_TABLES]
    for path in paths:
        _write_text(path, REPORT_TABLES[path.name](report))
    return paths


def write_figures(report: Report, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write the figures in these formats into `folder`; return the paths."""
    _claim(folder, figure_names(formats))
    return save_figures(report, folder, formats)


def _claim(folder: Path, names: Iterable[str]) -> None:
    """Make the folder and note which files in it belong to reports."""
    wanted = list(names)
    check_folder(folder, wanted)
    with _as_data_error(folder):
        folder.mkdir(parents=True, exist_ok=True)
        listed = sorted({*_listed(folder), *wanted})
        _write_text(folder / MANIFEST, json.dumps({"files": listed}, indent=1) + "\n")


def _listed(folder: Path) -> set[str]:
    manifest = folder / MANIFEST
    if not manifest.exists():
        return set()
    with _as_data_error(manifest):
        try:
            return set(json.loads(manifest.read_text(encoding="utf-8"))["files"])
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{manifest} is not a list of report files: {error}") from error


def _write_text(path: Path, text: str) -> None:
    write_whole(path, text.encode("utf-8"))


@contextmanager
def _as_data_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot use {path}: {error.strerror or error}") from error
