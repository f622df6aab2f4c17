"""The file format of a run: an SQLite database with our mark, our version, and checksums.

`run` holds the config (one row): the plan with its law and grid, and the fingerprint of the model.
An input is one row of `input`, with its `votes` and `certificate` rows; the three are written in
one transaction. `method` is the method as the plan writes it, `proof` is JSON with the `kind` of
the proof; what a certificate shares with others is kept once, in the plan or in `input`. `moved` is
the distance to the grid, and `variation` is null without a grid. `undefended` is the answer without
noise. The checksums of a run and of an input
cover all of it, so damage is found even where SQLite itself sees nothing wrong.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dsrs.errors import StoreCorrupted, StoreError
from dsrs.files import unfinished_path

STORE_NAME = "run.sqlite"
SETTINGS_NAME = "run.toml"
LOCK_NAME = "writer.lock"
APPLICATION_ID = int.from_bytes(b"DSRS", "big")
FORMAT_VERSION = 3

RUN_TABLES = """
CREATE TABLE run (config TEXT NOT NULL, checksum TEXT NOT NULL);
CREATE TABLE session (started TEXT NOT NULL, versions TEXT NOT NULL);
CREATE TABLE input (
    idx INTEGER PRIMARY KEY,
    label INTEGER,
    predicted INTEGER,
    target INTEGER NOT NULL,
    choices TEXT NOT NULL,
    seconds REAL NOT NULL,
    queries INTEGER,
    moved REAL NOT NULL,
    fingerprint TEXT,
    undefended INTEGER,
    thumbnail BLOB,
    checksum TEXT NOT NULL
);
CREATE TABLE votes (
    idx INTEGER NOT NULL REFERENCES input (idx),
    position INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (idx, position)
) WITHOUT ROWID;
CREATE TABLE certificate (
    idx INTEGER NOT NULL REFERENCES input (idx),
    position INTEGER NOT NULL,
    method TEXT NOT NULL,
    status TEXT NOT NULL,
    radius REAL NOT NULL,
    np_radius REAL,
    complete INTEGER NOT NULL,
    variation REAL,
    proof TEXT NOT NULL,
    PRIMARY KEY (idx, position)
) WITHOUT ROWID;
"""


def create_store(path: Path, config: str) -> None:
    """A new store with its config; it appears under `path` whole, or not at all."""
    try:
        draft = unfinished_path(path)
    except OSError as error:
        raise StoreError(f"{path.parent} cannot be written: {error.strerror}") from None
    connection = sqlite3.connect(draft, isolation_level=None)
    try:
        connection.executescript(
            f"PRAGMA synchronous = FULL; BEGIN; PRAGMA application_id = {APPLICATION_ID};"
            f"PRAGMA user_version = {FORMAT_VERSION};" + RUN_TABLES
        )
        connection.execute("INSERT INTO run VALUES (?, ?)", (config, checksum_of(config)))
        connection.execute("COMMIT")
        connection.close()
        draft.replace(path)
    except BaseException:
        connection.close()
        draft.unlink(missing_ok=True)
        raise


def read_config(connection: sqlite3.Connection, path: Path) -> dict[str, Any]:
    """The config of the run, after its checksum was compared."""
    rows = connection.execute("SELECT config, checksum FROM run").fetchall()
    if len(rows) != 1 or rows[0][1] != checksum_of(rows[0][0]):
        raise StoreCorrupted(damaged(path, "the checksum of its config does not match"))
    config: dict[str, Any] = json.loads(rows[0][0])
    return config


def checksum_of(text: str, blob: bytes | None = None) -> str:
    """Return the SHA-256 of a text and of the bytes beside it."""
    return hashlib.sha256(text.encode() + b"\0" + (blob or b"")).hexdigest()


@contextmanager
def damage_as_error(path: Path) -> Iterator[None]:
    """What SQLite says of a damaged, locked or unwritable file, in the words of our errors."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "malformed" in str(error):
            raise StoreCorrupted(damaged(path, str(error))) from error
        raise StoreError(f"{path} cannot be used: {error}") from error
    except sqlite3.IntegrityError as error:
        raise StoreError(f"{path} already holds this result: {error}") from error
    except sqlite3.DatabaseError as error:
        raise StoreCorrupted(damaged(path, str(error))) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise StoreCorrupted(damaged(path, f"broken text: {error}")) from error


def damaged(path: Path, why: str) -> str:
    """The message of a StoreCorrupted."""
    return f"{path} is damaged and nothing was read from it: {why}; restore a copy"
