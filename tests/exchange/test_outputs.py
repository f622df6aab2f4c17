"""Outputs replace nothing unless asked, never a file of another kind, and never a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsrs.cli.main import main
from dsrs.exchange import FORMATS
from dsrs.store import open_run

ROW = "index,d,k,sigma,p_lower,p_upper\n0,784,0,0.5,0.9,1.0\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "intervals.csv"
    path.write_text(ROW)
    return path


def writers(run_folder: Path, table: Path, output: Path) -> dict[str, list[str]]:
    return {
        "export": ["export", str(run_folder), "--output", str(output)],
        "import": ["import", str(table), "--output", str(output)],
        "recertify": ["recertify", str(table), "--quiet", "--output", str(output)],
        "recertify a run": [
            "recertify",
            str(run_folder),
            "--method",
            "np",
            "--output",
            str(output),
        ],
    }


VERBS = ("export", "import", "recertify", "recertify a run")


@pytest.mark.parametrize("verb", VERBS)
def test_an_existing_table_is_replaced_only_when_asked(
    run_folder: Path, table: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = table.with_name("out.csv")
    command = writers(run_folder, table, output)[verb]
    assert main(command) == 0
    first = output.read_bytes()
    output.write_text(ROW)
    assert main(command) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert output.read_text() == ROW
    assert main([*command, "--overwrite"]) == 0
    assert output.read_bytes() == first


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("content", ["my notes, precious\n", '{"index": 1}\n', "a,b\n1,2\n"])
def test_a_file_of_another_kind_is_never_replaced(
    run_folder: Path, table: Path, verb: str, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = table.with_name("out.csv")
    output.write_text(content)
    assert main([*writers(run_folder, table, output)[verb], "--overwrite"]) == 2
    assert "another kind" in capsys.readouterr().err
    assert output.read_text() == content


@pytest.mark.parametrize("verb", VERBS[:3])
@pytest.mark.parametrize("name", ["run.sqlite", "new.csv", "writer.lock", "deep/new.csv"])
def test_nothing_is_written_into_a_run_folder(
    run_folder: Path, table: Path, verb: str, name: str
) -> None:
    before = {path.name: path.read_bytes() for path in run_folder.iterdir()}
    assert main([*writers(run_folder, table, run_folder / name)[verb], "--overwrite"]) == 2
    assert {path.name: path.read_bytes() for path in run_folder.iterdir()} == before
    with open_run(run_folder) as run:
        assert len(list(run.results())) == 9


@pytest.mark.parametrize("form", [name for name, form in FORMATS.items() if form.read])
def test_every_format_of_export_asks_first(run_folder: Path, tmp_path: Path, form: str) -> None:
    output = tmp_path / f"out{FORMATS[form].ending}"
    command = ["export", str(run_folder), "--format", form, "--method", "np"]
    command += ["--output", str(output)]
    assert main(command) == 0
    written = {path: path.read_bytes() for path in [output, *output.rglob("*")] if path.is_file()}
    assert main(command) == 2
    assert main([*command, "--overwrite"]) == 0
    assert {path: path.read_bytes() for path in written} == written


def test_a_table_cannot_be_written_onto_itself(table: Path) -> None:
    assert main(["import", str(table), "--overwrite"]) == 2
    assert main(["recertify", str(table), "--output", str(table), "--overwrite"]) == 2
    assert table.read_text() == ROW
