"""The SQLite files of a run folder: their tables and checksums, and how they are opened safely.

A run folder may come from a stranger, and SQLite believes what lies beside a database. A journal
that names a super-journal makes it delete the file of that name, any file of the user; a
write-ahead log is written into the database when it is closed; a link leads anywhere. This package
writes none of these, and refuses them all.

A reader opens a store for reading only, beside a writer that may be at work. Where a killed writer
left a transaction half done, it undoes that in a private copy; only a writer undoes it in the
folder.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dsrs.errors import StoreCorrupted, StoreError, StoreTooNew
from dsrs.files import unfinished_path

# ---- The file format of a run: an SQLite database with our mark, our version, and checksums
#
# `run` holds the config (one row): the plan with its law and grid, and the fingerprint of the
# model. An input is one row of `input`, with its `votes` and `certificate` rows; the three are
# written in one transaction. `method` is the method as the plan writes it, `proof` is JSON with the
# `kind` of the proof; what a certificate shares with others is kept once, in the plan or in
# `input`. `moved` is the distance to the grid, and `variation` is null without a grid. `undefended`
# is the answer without noise. The checksums of a run and of an input cover all of it, so damage is
# found even where SQLite itself sees nothing wrong.

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
    if len(rows) == 1 and not isinstance(rows[0][0], str):
        raise StoreCorrupted(damaged(path, "its config is no text"))
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


# ---- Opening and locking a store

BUSY_SECONDS = 60.0  # a reader waits this long for a writer's transaction
JOURNAL, LOGS = "-journal", ("-wal", "-shm")
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")  # also the end of a super-journal's name
HEADER_START, ROLLBACK = b"SQLite format 3\0", b"\1\1"  # its bytes 18 and 19; \2: a log is used
COPIES = 20  # tries of a copy that no writer comes between


def refuse_strange_files(folder: Path) -> None:
    """Raise StoreError where files of a run folder could make a reader or writer touch others."""
    databases = (STORE_NAME, LOCK_NAME)
    beside = [name + ending for name in databases for ending in (JOURNAL, *LOGS)]
    for name in (*databases, SETTINGS_NAME, *beside):
        try:
            mode = (folder / name).lstat().st_mode
        except OSError:
            continue  # it is not there, or cannot be opened either
        if not stat.S_ISREG(mode):
            kind = "a link" if stat.S_ISLNK(mode) else "no regular file"
            raise StoreError(f"{folder / name} is {kind}; a run folder holds only its own files")
        if name.endswith(LOGS):
            raise StoreError(f"{folder / name}: a run of dsrs has no such file; nothing was opened")
        if name.endswith(JOURNAL):
            _refuse_super_journal(folder / name)


def connect(path: Path, *, writable: bool) -> sqlite3.Connection:
    """A connection to a store that has passed all checks of its file.

    It shows the store as its last transaction left it. Unless `writable`, nothing in the folder is
    changed.
    """
    with damage_as_error(path):
        connection = _opened(path, writable)
    try:
        with damage_as_error(path):
            _check_format(connection, path)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA query_only = {'OFF' if writable else 'ON'}")
    except BaseException:
        connection.close()
        raise
    return connection


def lock_folder(folder: Path) -> sqlite3.Connection:
    """The lock that only one process may hold while it writes to a run folder."""
    # An SQLite lock works on every system, and the system frees it when the process is killed.
    refuse_strange_files(folder)
    connection = sqlite3.connect(folder / LOCK_NAME, timeout=0, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.DatabaseError as error:
        connection.close()
        if "locked" in str(error):
            raise StoreError(
                f"another process is writing to {folder}; wait for it to end, "
                "or use another --output"
            ) from None
        raise StoreError(f"{folder} cannot be written: {error}") from None
    return connection


def _opened(path: Path, writable: bool) -> sqlite3.Connection:
    refuse_strange_files(path.parent)
    _check_header(path)
    if writable:
        return _connected(path, "rw")
    connection = _connected(path, "ro")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if "readonly" not in str(error):
            raise
        return _recovered(path)  # there is a transaction to undo, which a reader may not
    except BaseException:
        connection.close()
        raise
    return connection


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def _recovered(path: Path) -> sqlite3.Connection:
    """The store without the transaction that was cut, in memory."""
    journal = path.with_name(path.name + JOURNAL)
    with TemporaryDirectory() as place:
        copy = Path(place) / path.name
        for _ in range(COPIES):
            # While the same journal is there nothing is committed: played back over a copy that
            # was made meanwhile, it gives the last state before it.
            before = _identity(journal)
            if before is None:
                return _opened(path, writable=False)  # a writer has undone it meanwhile
            shutil.copyfile(journal, copy.with_name(journal.name))
            shutil.copyfile(path, copy)
            if _identity(journal) == before:
                break
        else:
            raise StoreError(f"{path} is changed all the time; try again")
        _refuse_super_journal(copy.with_name(journal.name))
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with closing(_connected(copy, "rw")) as undone:
            undone.backup(connection)
    return connection


def _identity(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _refuse_super_journal(journal: Path) -> None:
    try:
        with journal.open("rb") as file:
            file.seek(max(file.seek(0, 2) - len(JOURNAL_MAGIC), 0))
            end = file.read()
    except FileNotFoundError:
        return  # a writer has finished meanwhile
    if end == JOURNAL_MAGIC:
        raise StoreError(
            f"{journal} names a super-journal, which SQLite would delete, whatever file that is; "
            "dsrs writes no such journal, so nothing was opened: do not trust this folder"
        )


def _check_header(path: Path) -> None:
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        raise StoreError(
            f"{path.parent} holds no run: there is no {path.name} in it; "
            "start one with `dsrs certify ... --output`"
        ) from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None
    if len(header) < 100 or not header.startswith(HEADER_START):
        raise StoreCorrupted(damaged(path, "it does not start like an SQLite database"))
    if header[18:20] != ROLLBACK:
        raise StoreCorrupted(damaged(path, "it asks for a write-ahead log, which no run has"))


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID or version < 1:
        raise StoreCorrupted(damaged(path, "it is an SQLite database, but not of a dsrs run"))
    if version < FORMAT_VERSION:
        raise StoreError(
            f"{path} was written in format {version}, and this version of dsrs reads format "
            f"{FORMAT_VERSION}; certify its inputs again"
        )
    if version > FORMAT_VERSION:
        raise StoreTooNew(
            f"{path} was written in format {version}, and this version of dsrs reads format "
            f"{FORMAT_VERSION}; upgrade with: pip install --upgrade dsrs"
        )
    # What a view or a trigger gives may depend on who asks, and an index may leave rows out.
    others = connection.execute(
        "SELECT name FROM sqlite_master WHERE type <> 'table' OR sql IS NULL"
        " OR sql NOT LIKE 'create table %'"
    ).fetchall()
    if others:
        raise StoreCorrupted(damaged(path, f"it holds more than tables: {others[0][0]!r}"))
    findings = [row[0] for row in connection.execute("PRAGMA quick_check(3)")]
    if findings not in ([], ["ok"]):
        raise StoreCorrupted(damaged(path, "; ".join(findings)))


# ---- Which inputs a session was asked for, as text: 0-39,50

ASKED = "asked"  # its key beside the versions of a session


def ranges_text(indices: Iterable[int]) -> str:
    """0-39,50 for these numbers, in order."""
    runs: list[list[int]] = []
    for index in sorted(set(indices)):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(f"{a}-{b}" if b > a else str(a) for a, b in runs)


def ranges_of(text: str) -> set[int]:
    """The numbers that `ranges_text` wrote."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found
