"""Writing a run folder: one writer at a time, one transaction for each input."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from dsrs.errors import StoreError
from dsrs.files import UNFINISHED, make_folders, remove_empty, write_whole
from dsrs.methods import Plan
from dsrs.store.asked import ASKED, ranges_text
from dsrs.store.config import check_same_run, versions
from dsrs.store.opening import connect, lock_folder
from dsrs.store.result import RunResult
from dsrs.store.rows import rows_of_result, write_rows
from dsrs.store.schema import (
    LOCK_NAME,
    SETTINGS_NAME,
    STORE_NAME,
    create_store,
    damage_as_error,
    read_config,
)


def start_run(
    path: str | Path, config: Mapping[str, Any], settings: str | None = None
) -> RunWriter:
    """Start a run in a new or empty folder, or continue the run of the same config in it.

    `settings` is the text of its run.toml, which says how to start such a run again.
    Raises StoreMismatch when the folder holds a run of another config, and StoreError when it
    holds something else, cannot be written, or another process writes to it.
    """
    folder = Path(path)
    made = _make_folder(folder)
    store = folder / STORE_NAME
    with ExitStack() as undo:
        undo.callback(remove_empty, made)
        lock = lock_folder(folder)
        undo.callback(_remove_traces, folder, made)
        undo.callback(lock.close)
        # A run without results holds nothing that could be mixed: its start has failed.
        if not store.exists() or _is_empty(store):
            with damage_as_error(store):
                create_store(store, json.dumps(config, allow_nan=False))
        connection = connect(store, writable=True)
        undo.callback(connection.close)
        writer = RunWriter(folder, connection, lock, config, made)
        if settings is not None:
            write_whole(folder / SETTINGS_NAME, settings.encode())
        undo.pop_all()
    return writer


class RunWriter:
    """A run that is open for adding results. `with start_run(...) as writer:` closes it."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        lock: sqlite3.Connection,
        config: Mapping[str, Any],
        made: list[Path],
    ) -> None:
        self.path = path
        self._made = made
        self.store = path / STORE_NAME
        self._connection = connection
        self._lock = lock
        self._plan = Plan.from_dict(dict(config["plan"]))
        with damage_as_error(self.store):
            check_same_run(read_config(connection, self.store), config, path)
            now = datetime.now(timezone.utc).isoformat(timespec="seconds")
            connection.execute("INSERT INTO session VALUES (?, ?)", (now, json.dumps(versions())))

    def ask(self, indices: Iterable[int]) -> None:
        """Keep which inputs this session shall finish, for `dsrs show`."""
        text = json.dumps(versions() | {ASKED: ranges_text(indices)})
        with damage_as_error(self.store), self._connection as transaction:
            transaction.execute(
                "UPDATE session SET versions = ? WHERE rowid = (SELECT max(rowid) FROM session)",
                (text,),
            )

    def add_sessions(self, sessions: Iterable[Mapping[str, Any]]) -> None:
        """Sessions of other runs whose results are added to this one, unless they are known."""
        with damage_as_error(self.store), self._connection as transaction:
            transaction.execute("BEGIN IMMEDIATE")
            known = set(transaction.execute("SELECT started, versions FROM session"))
            for each in sessions:
                asked = {ASKED: each[ASKED]} if each[ASKED] is not None else {}
                row = (each["started"], json.dumps(each["versions"] | asked))
                if row not in known:
                    transaction.execute("INSERT INTO session VALUES (?, ?)", row)
                    known.add(row)

    def finished(self) -> set[int]:
        """The inputs whose results are kept."""
        with damage_as_error(self.store):
            return {row[0] for row in self._connection.execute("SELECT idx FROM input")}

    def holds(self, index: int) -> bool:
        """Whether the result of this input is kept."""
        with damage_as_error(self.store):
            query = "SELECT 1 FROM input WHERE idx = ?"
            return self._connection.execute(query, (index,)).fetchone() is not None

    def add(self, result: RunResult) -> None:
        """Keep the result of one input: whole, on disk, when this returns."""
        rows = rows_of_result(result, self._plan)
        with damage_as_error(self.store), self._connection as transaction:
            transaction.execute("BEGIN IMMEDIATE")
            write_rows(transaction, rows)

    def close(self) -> None:
        self._connection.close()
        self._lock.close()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, kind: object, *details: object) -> None:
        self.close()
        if kind is not None:
            _remove_traces(self.path, self._made)


def _is_empty(store: Path) -> bool:
    # For writing, so that no transaction that was cut is left for the store that takes its place.
    with closing(connect(store, writable=True)) as connection, damage_as_error(store):
        (inputs,) = connection.execute("SELECT count(*) FROM input").fetchone()
        return not inputs


def _remove_traces(folder: Path, made: list[Path]) -> None:
    """After a start that failed before the first input: leave the place as it was found."""
    store = folder / STORE_NAME
    if store.exists() and not _is_empty(store):
        return
    store.unlink(missing_ok=True)
    for name in (LOCK_NAME, SETTINGS_NAME):
        (folder / name).unlink(missing_ok=True)
    remove_empty(made)


def _make_folder(folder: Path) -> list[Path]:
    try:
        there = folder.exists()
    except OSError as error:
        raise StoreError(f"{folder} cannot be a run folder: {error.strerror}") from None
    if there and not folder.is_dir():
        raise StoreError(f"{folder} is a file; --output must be a new folder or a run to continue")
    if folder.is_dir() and not (folder / STORE_NAME).exists():
        ours = {LOCK_NAME, f"{LOCK_NAME}-journal"}
        strange = sorted(
            item.name
            for item in folder.iterdir()
            if item.name not in ours
            and not (item.name.startswith(f".{STORE_NAME}.") and UNFINISHED in item.name)
        )
        if strange:
            raise StoreError(
                f"{folder} is not empty and holds no run (it has {strange[0]}); "
                "--output must be a new folder or a run to continue"
            )
    try:
        return make_folders(folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be created: {error.strerror}") from None
