"""Stores whose tables give some readers other rows than others: they are no run folders."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("flint")

from audit.small_runs import PLANS, make_run, rewrite
from dsrs.cli.main import main
from dsrs.store import open_run
from dsrs.store.opening import STORE_NAME

KEY, MORE = "PRIMARY KEY (idx, position)", ", UNIQUE (idx, position, method)"
INDEX = "sqlite_autoindex_certificate_2"
ASIDE = "CREATE TABLE aside (a, b, c, PRIMARY KEY (a, b, c)) WITHOUT ROWID"


def sql_of_certificates(store: sqlite3.Connection) -> str:
    (text,) = store.execute("SELECT sql FROM sqlite_master WHERE name = 'certificate'").fetchone()
    return str(text)


def redefined(folder: Path, text: str, index: tuple[str, ...] | None = None) -> None:
    """Give the table of certificates another definition, and its index another place; no row is
    touched."""
    with sqlite3.connect(folder / STORE_NAME) as store:
        store.execute("PRAGMA writable_schema = ON")
        store.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'certificate'", (text,))
        if index is not None:
            change = "name = ?, tbl_name = ?, type = ?, sql = nullif(?, '')"
            store.execute(f"UPDATE sqlite_master SET {change} WHERE name IN (?, 'aside')", index)
    store.close()


def test_the_index_of_a_constraint_leaves_no_certificate_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no text in the schema, and the list of certificates was read from it."""
    folder = make_run(tmp_path / "run", PLANS["np"])
    rewrite(folder, 1, "radius = 7.5")
    assert main(["check", str(folder), "--quiet"]) == 1
    with sqlite3.connect(folder / STORE_NAME) as store:
        plain = sql_of_certificates(store)
        store.execute("ALTER TABLE certificate RENAME TO old")
        store.execute(plain.replace(KEY, KEY + MORE))
        store.execute("INSERT INTO certificate SELECT * FROM old WHERE idx <> 1")
        hidden = store.execute("SELECT * FROM old WHERE idx = 1").fetchone()
        store.execute("DROP TABLE old")
    store.close()
    redefined(folder, plain, ("aside", "aside", "table", ASIDE, INDEX))
    with sqlite3.connect(folder / STORE_NAME) as store:
        store.execute(f"INSERT INTO certificate VALUES ({', '.join('?' * len(hidden))})", hidden)
    store.close()
    redefined(folder, plain.replace(KEY, KEY + MORE), (INDEX, "certificate", "index", "", INDEX))
    with open_run(folder) as run:
        assert run.result(1).certificates["np"].radius == 7.5
    capsys.readouterr()
    assert main(["check", str(folder), "--quiet"]) == 2
    assert f"holds more than tables: '{INDEX}'" in capsys.readouterr().err


def test_rows_that_lie_in_another_order_than_the_table_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a search finds is then not what a scan finds."""
    folder = make_run(tmp_path / "run", PLANS["np"])
    with sqlite3.connect(folder / STORE_NAME) as store:
        plain = sql_of_certificates(store)
    store.close()
    redefined(folder, plain.replace(KEY, "PRIMARY KEY (idx DESC, position)"))
    assert main(["check", str(folder), "--quiet"]) == 2
    assert "is damaged" in capsys.readouterr().err


def test_bytes_are_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The check read them as JSON, and then others could not."""
    folder = make_run(tmp_path / "run", PLANS["np"])
    with sqlite3.connect(folder / STORE_NAME) as store:
        config = store.execute("SELECT config FROM run").fetchone()[0].encode()
        checksum = hashlib.sha256(str(config).encode() + b"\0").hexdigest()
        store.execute("UPDATE run SET config = ?, checksum = ?", (config, checksum))
    store.close()
    assert main(["check", str(folder), "--quiet"]) == 2
    assert "expected a JSON text, got bytes" in capsys.readouterr().err
