"""A run or table that is false at first sight counts for nothing, without any mathematics."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import dsrs
from dsrs.cli.main import main
from dsrs.store import CERTIFICATE_COLUMNS, INPUT_COLUMNS, STORE_NAME, InputRows, rows_of_index

GATE = ["gate", "run", "--require", "accuracy@0.1>=0.1", "--point"]
COMMANDS = [GATE, ["report", "run"], ["compare", "run", "run"]]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    smoothed = dsrs.smooth(
        lambda batch: (batch.mean(axis=1) > 0.5).astype(int),
        sigma=0.5,
        num_classes=2,
        input_shape=(4,),
        n=60,
        method="np",
    )
    folder = tmp_path_factory.mktemp("honest") / "run"
    smoothed.certify(np.full((3, 4), 0.9, dtype=np.float32), [1, 1, 0]).save(folder)
    return folder


@pytest.fixture
def run(honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(honest, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "run"


def forge(run: Path, *statements: str) -> None:
    """Change the store of a run, and make its checksums fit."""
    with sqlite3.connect(run / STORE_NAME) as connection:
        for statement in statements:
            connection.execute(statement)
        for (index,) in connection.execute("SELECT idx FROM input").fetchall():
            new = (sum_of(connection, index), index)
            connection.execute("UPDATE input SET checksum = ? WHERE idx = ?", new)
    connection.close()


def sum_of(connection: sqlite3.Connection, index: int) -> str:
    fields, votes, certificates = rows_of_index(
        connection, index, Path(), INPUT_COLUMNS, CERTIFICATE_COLUMNS
    )
    *own, thumbnail, _ = fields
    return InputRows(own, [body for (body,) in votes], certificates, thumbnail).checksum


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("words", COMMANDS[:2])
def test_a_radius_beyond_its_proof_is_refused(
    run: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    forge(run, "UPDATE certificate SET radius = 5.0 WHERE idx = 0")
    assert "below the radius 5.0" in refused(words, capsys)


def test_a_comparison_refuses_it_too(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(run, "other")
    assert main(["compare", "run", "other"]) == 0
    forge(run, "UPDATE certificate SET radius = 5.0 WHERE idx = 0")
    for words in (["compare", "run", "other"], ["compare", "other", "run"]):
        assert "below the radius 5.0" in refused(words, capsys)


def test_two_certificates_of_one_method_are_refused(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = "method, status, radius, np_radius, complete, variation, proof"
    forge(
        run,
        f"INSERT INTO certificate (idx, position, {columns})"
        f" SELECT idx, 9, {columns} FROM certificate WHERE idx = 0",
    )
    assert "two certificates of the method np" in refused(GATE, capsys)


def exported(form: str) -> str:
    name = f"rows.{form}"
    assert main(["export", "run", "--format", form, "--output", name]) == 0
    return name


def test_a_table_is_refused_as_a_run_is(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = exported("jsonl")
    lines = Path(name).read_text().splitlines()
    gate = [word.replace("run", name) for word in GATE]
    assert main(gate) == 0
    first = json.loads(lines[0])
    Path(name).write_text("\n".join([json.dumps(first | {"radius": 5.0}), *lines[1:]]))
    assert "below the radius 5.0" in refused(gate, capsys)
    Path(name).write_text("\n".join([*lines, lines[0]]))
    assert "input 0 of the method np comes twice" in refused(gate, capsys)
    Path(name).write_text("\n".join([json.dumps(first | {"proof": "[" * 9}), *lines[1:]]))
    assert "the proof of input 0" in refused(gate, capsys)


def test_a_gate_proves_first_where_it_is_asked(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*GATE, "--check"]) == 0
    with sqlite3.connect(run / STORE_NAME) as connection:
        (text,) = connection.execute("SELECT proof FROM certificate WHERE idx = 0").fetchone()
    connection.close()
    proof = json.loads(text)
    for step in proof["steps"]:
        step["radius"] = 5.0
    forge(run, f"UPDATE certificate SET radius = 5, proof = '{json.dumps(proof)}' WHERE idx = 0")
    assert main(GATE) == 0
    assert "is not proved" in refused([*GATE, "--check"], capsys)
