"""Walking the door for formats: one file and one registration, and every command copes with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dsrs.cli.main import main
from dsrs.errors import InvalidInput
from dsrs.exchange import FORMATS, Format, format_of, import_rows, register, rows_of
from dsrs.store import open_run
from exchange.markdown_format import MARKDOWN


@pytest.fixture
def markdown() -> Iterator[Format]:
    register(MARKDOWN)
    yield MARKDOWN
    del FORMATS[MARKDOWN.name]


@pytest.mark.usefixtures("markdown")
def test_a_run_is_exported_read_certified_again_and_reported(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "run.md"
    words = ["export", str(run_folder), "--format", "markdown", "--output", str(table)]
    assert main(words) == 0
    with open_run(run_folder) as run:
        rows = list(rows_of(run.results(), run.config["plan"]))
    assert format_of(table) == "markdown"
    assert import_rows(table) == import_rows(table, "markdown") == rows
    assert main(["import", str(table), "--output", str(tmp_path / "run.csv")]) == 0
    assert import_rows(tmp_path / "run.csv") == rows
    again = tmp_path / "again.csv"
    assert main(["recertify", str(tmp_path / "run.csv"), "--output", str(again), "--quiet"]) == 0
    assert main(["report", str(table), "--output", str(tmp_path / "page.html")]) == 0
    again_words = ["recertify", str(run_folder), "--output", str(tmp_path / "again.md"), "--quiet"]
    assert main(again_words) == 0
    assert [(row.index, row.method) for row in import_rows(tmp_path / "again.md")] == [
        (row.index, row.method) for row in rows
    ]
    capsys.readouterr()


@pytest.mark.usefixtures("markdown")
def test_its_files_are_replaced_by_their_own_kind_only(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "run.md"
    words = ["export", str(run_folder), "--format", "markdown", "--output", str(table)]
    assert main(words) == 0
    assert main(words) == 2
    assert main([*words, "--overwrite"]) == 0
    csv = ["export", str(run_folder), "--format", "csv", "--output", str(table), "--overwrite"]
    assert main(csv) == 2
    assert f"{table} is markdown, and csv would replace it" in capsys.readouterr().err


def test_a_name_stands_for_one_format() -> None:
    with pytest.raises(InvalidInput, match="there is a format 'csv' already"):
        register(Format("csv", ".csv", lambda content: False))


def test_no_content_is_of_two_formats(run_folder: Path, tmp_path: Path) -> None:
    for name, form in FORMATS.items():
        if form.write is None or name == "tsv":
            continue
        output = tmp_path / f"rows{form.ending}"
        words = ["export", str(run_folder), "--format", name, "--output", str(output)]
        assert main(words) == 0
        content = output.read_bytes()
        assert [other for other in FORMATS if FORMATS[other].recognises(content)] == [name]
