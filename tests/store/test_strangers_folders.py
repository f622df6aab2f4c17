"""Run folders from strangers: opening one changes nothing, in it or elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dsrs.cli.main import main
from dsrs.errors import StoreCorrupted, StoreError
from dsrs.store import open_run

MODEL = """
import numpy as np

def net(batch):
    mean = batch.mean(axis=(1, 2, 3))
    return np.stack([0.5 - mean, mean - 0.5], axis=1)
"""
WHAT = "--model net.py:net --data data.npz --sigma 0.5 --n 40 --quiet"
CERTIFY = f"certify {WHAT} --q none --output run"
CALIBRATE = (
    "conformal calibrate --model net.py:net --data data.npz --sigma 0.5 --radius 0.1 --coverage 0.5"
    " --output sets.json --quiet"
)
STORE = "run.sqlite"
# Every command that takes a run folder.
READING = [
    "check run --quiet",
    "check run --quiet",
    "check run --quiet --votes 1",
    "show run",
    "show run --index 0",
    "show run --watch 1",
    "report run",
    "report run --output page.html",
    "gate run --require inputs>=1",
    "compare run other",
    "compare other run",
    "export run --format csv --output rows.csv",
    "recertify run --output again --quiet",
    "merge run other --output merged",
    "served run --model net.py:net",
    "tune --landscape run",
    "conformal curve --sets sets.json --radii 0.1 --model net.py:net --data data.npz --run run",
    "certify --model net.py:net --data rows.npz --sigma 0.5 --scale run --output scaled",
    f"certify {WHAT} --dry-run --landscape run --output dry",
    "attack run --output attacked --model net.py:net --data data.npz --quiet",
]
WRITING = [
    CERTIFY,
    f"{CERTIFY} --alpha 0.01",
    "merge other --output run",
    "attack run --model net.py:net --data data.npz --quiet",
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    images = np.full((3, 1, 2, 2), 0.9, dtype=np.float32)
    np.savez(folder / "data.npz", images=images, labels=[1, 1, 0])
    np.savez(folder / "rows.npz", images=images.reshape(3, 4), labels=[1, 1, 0])
    (folder / "net.py").write_text(MODEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(CERTIFY.split()) == 0
        assert main(CALIBRATE.split()) == 0
        assert main(CERTIFY.replace("output run", "output other").split()) == 0
    return folder


@pytest.fixture
def place(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(prepared, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def hot_journal(database: Path, victim: Path | None) -> None:
    """A journal without a page, which must be played back, with the name of a super-journal."""
    content = database.read_bytes()
    page = struct.unpack(">H", content[16:18])[0]
    magic = bytes.fromhex("d9d505f920a163d7")
    head = magic + struct.pack(">IIIII", 0, 0x1234, len(content) // page, 512, page)
    name = b"" if victim is None else str(victim).encode()
    lock_page = 0x40000000 // page + 1
    tail = struct.pack(">I", lock_page) + name + struct.pack(">II", len(name), sum(name)) + magic
    journal = database.with_name(database.name + "-journal")
    journal.write_bytes(head.ljust(512, b"\0") + (b"" if victim is None else tail))


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("command", [*READING, *WRITING])
def test_no_command_deletes_what_a_journal_names(
    place: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = place / "thesis.txt"
    victim.write_text("the only copy")
    hot_journal(place / "run" / STORE, victim)
    before = contents(place / "run")
    code = main(command.split())
    assert victim.read_text() == "the only copy"
    assert contents(place / "run") == before
    assert (code, "super-journal" in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize("command", WRITING)
def test_no_command_deletes_what_the_journal_of_the_lock_names(place: Path, command: str) -> None:
    victim = place / "thesis.txt"
    victim.write_text("the only copy")
    shutil.copyfile(place / "run" / STORE, place / "run" / "writer.lock")
    hot_journal(place / "run" / "writer.lock", victim)
    assert main(command.split()) == 2
    assert victim.exists()


@pytest.mark.parametrize("command", READING)
def test_a_reader_changes_no_file_of_a_run(place: Path, command: str) -> None:
    if "--watch" in command:
        pytest.skip("to watch has no end")
    before = contents(place / "run")
    main(command.split())
    assert contents(place / "run") == before


@pytest.mark.parametrize(
    "command", [words for words in READING if not words.startswith("check") and "--w" not in words]
)
def test_a_transaction_that_was_cut_is_undone_in_a_copy(
    place: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(command.split())
    told = capsys.readouterr().out
    shutil.rmtree(place)
    shutil.copytree(place.parent / "whole", place)
    os.chdir(place)
    cut_transaction(place / "run" / STORE)
    before = contents(place / "run")
    assert main(command.split()) == code
    assert timeless(capsys.readouterr().out) == timeless(told)
    assert contents(place / "run") == before


@pytest.fixture(autouse=True)
def whole(prepared: Path, tmp_path: Path) -> None:
    shutil.copytree(prepared, tmp_path / "whole")


def timeless(text: str) -> str:
    return re.sub(r"\d+(\.\d+)? *(ms|s)\b|[\d:T+-]{8,}", "", text)


def cut_transaction(store: Path) -> None:
    """Kill a writer whose transaction has reached the disk."""
    program = (
        "import os, signal, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('PRAGMA cache_size = 1')\n"
        "connection.execute('BEGIN')\n"
        "connection.execute('DELETE FROM certificate')\n"
        "connection.execute('UPDATE input SET thumbnail = zeroblob(100000)')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(store)], check=False)
    assert store.with_name(f"{STORE}-journal").exists()


def test_a_reader_sees_what_is_committed_beside_a_writer(place: Path) -> None:
    writer = sqlite3.connect(place / "run" / STORE, isolation_level=None)
    writer.execute("PRAGMA cache_spill = OFF")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM input WHERE idx = 2")
    assert (place / "run" / f"{STORE}-journal").exists()
    with open_run("run") as run:
        assert run.indices() == [0, 1, 2]
    writer.execute("COMMIT")
    writer.close()
    with open_run("run") as run:
        assert run.indices() == [0, 1]


@pytest.mark.parametrize(
    "name", [STORE, f"{STORE}-journal", f"{STORE}-wal", "run.toml", "writer.lock"]
)
@pytest.mark.parametrize("command", ["show run", "check run", CERTIFY, "merge other --output run"])
def test_links_in_a_run_folder_are_refused(
    place: Path, name: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = place / f"elsewhere {name}"
    if (place / "run" / name).exists():
        (place / "run" / name).rename(target)
    else:
        target.write_bytes(b"precious")
    (place / "run" / name).symlink_to(target)
    before = target.read_bytes()
    assert main(command.split()) == 2
    assert "is a link" in capsys.readouterr().err
    assert target.read_bytes() == before


def test_a_run_folder_may_be_a_link_itself(place: Path) -> None:
    (place / "latest").symlink_to("run")
    assert main(["show", "latest"]) == 0


def test_a_pipe_in_place_of_a_store_is_refused_at_once(place: Path) -> None:
    (place / "run" / STORE).unlink()
    os.mkfifo(place / "run" / STORE)
    with pytest.raises(StoreError, match="no regular file"):
        open_run("run")


def test_a_store_with_a_write_ahead_log_is_refused(place: Path) -> None:
    store = place / "run" / STORE
    content = bytearray(store.read_bytes())
    content[18:20] = b"\2\2"
    store.write_bytes(bytes(content))
    with pytest.raises(StoreCorrupted, match="write-ahead log"):
        open_run("run")
    assert sorted(contents(place / "run")) == ["run.sqlite", "run.toml", "writer.lock"]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE INDEX fewer ON certificate (idx) WHERE radius > 1",
        "CREATE TRIGGER more AFTER INSERT ON session BEGIN DELETE FROM input; END",
        "CREATE VIEW other AS SELECT * FROM input",
        "ALTER TABLE input RENAME TO kept; CREATE VIEW input AS SELECT * FROM kept",
        "CREATE VIRTUAL TABLE words USING fts5(text)",
    ],
)
@pytest.mark.parametrize("command", ["show run", CERTIFY, "merge other --output run"])
def test_a_store_that_holds_more_than_tables_is_refused(
    place: Path, statement: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with sqlite3.connect(place / "run" / STORE) as connection:
        connection.executescript(statement)
    connection.close()
    assert main(command.split()) == 2
    assert "more than tables" in capsys.readouterr().err


def test_what_is_left_of_a_start_that_was_killed_is_no_part_of_the_next(place: Path) -> None:
    """A transaction that was cut before the first result must not be undone in another store."""
    with sqlite3.connect(place / "run" / STORE) as connection:
        for table in ("certificate", "votes", "input"):
            connection.execute(f"DELETE FROM {table}")
    connection.close()
    hot_journal(place / "run" / STORE, None)
    assert main(f"{CERTIFY} --alpha 0.01".split()) == 0
    assert main(["check", "run", "--quiet"]) == 0


def test_only_one_place_opens_databases() -> None:
    source = Path(open_run.__code__.co_filename).parents[1]
    opening = {
        file.relative_to(source).as_posix()
        for file in source.rglob("*.py")
        if "sqlite3.connect(" in file.read_text(encoding="utf-8")
    }
    assert opening - {"audit/run_folder.py"} == {"store/opening.py"}
