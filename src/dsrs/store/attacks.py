"""The attacks of a run: a table of its own in the same store, made when an attack begins.

A run that was never attacked has no such table, and whoever knows nothing of attacks reads the
others as before. One run has one attack: its settings are kept beside it, and results of other
settings are never mixed with it.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np

from dsrs.errors import DataError, StoreCorrupted, StoreError, StoreMismatch
from dsrs.proofs import AttackedInput
from dsrs.store.opening import (
    STORE_NAME,
    checksum_of,
    connect,
    damage_as_error,
    damaged,
    lock_folder,
)
from dsrs.store.reader import Run, existing_folder

ATTACK_TABLES = """
CREATE TABLE IF NOT EXISTS attack (settings TEXT NOT NULL, checksum TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS attacked (
    idx INTEGER PRIMARY KEY REFERENCES input (idx),
    body TEXT NOT NULL,
    perturbation BLOB,
    perturbation_picture BLOB,
    perturbed_picture BLOB,
    checksum TEXT NOT NULL
);
"""


def start_attack(
    path: str | Path, settings: Mapping[str, Any], *, replace: bool = False
) -> AttackWriter:
    """Start the attack of a run, or continue the one of the same settings.

    Raises StoreMismatch where the run holds an attack of other settings, unless `replace` drops it,
    and StoreError where another process writes to the run.
    """
    folder = existing_folder(path)
    store = folder / STORE_NAME
    if store.exists() and not (os.access(folder, os.W_OK) and os.access(store, os.W_OK)):
        raise StoreError(
            f"{folder} may not be written, and an attack is kept in its run; name a folder for a "
            "copy with `output`"
        )
    with closing(connect(store, writable=True)):
        pass  # refuses what cannot be written before a lock is left in the folder
    with ExitStack() as undo:
        lock = undo.enter_context(closing(lock_folder(folder)))
        connection = undo.enter_context(closing(connect(store, writable=True)))
        writer = AttackWriter(store, connection, lock, settings, replace)
        undo.pop_all()
    return writer


class AttackWriter:
    """An open attack that results can be added to; use it as a context manager."""

    def __init__(
        self,
        store: Path,
        connection: sqlite3.Connection,
        lock: sqlite3.Connection,
        settings: Mapping[str, Any],
        replace: bool,
    ) -> None:
        self.store, self._connection, self._lock = store, connection, lock
        with damage_as_error(store), connection as transaction:
            transaction.execute("BEGIN IMMEDIATE")
            for statement in ATTACK_TABLES.split(";"):
                transaction.execute(statement)
            (kept,) = transaction.execute("SELECT count(*) FROM attacked").fetchone()
            if replace or not kept:
                # Settings without results bind nobody: that attack was stopped at its start.
                transaction.execute("DELETE FROM attacked")
                transaction.execute("DELETE FROM attack")
            stored = read_settings(transaction, store)
            if stored is None:
                text = json.dumps(settings, allow_nan=False)
                transaction.execute("INSERT INTO attack VALUES (?, ?)", (text, checksum_of(text)))
            elif stored != dict(settings):
                raise StoreMismatch(_difference(store.parent, stored, settings))

    def finished(self) -> set[int]:
        """The inputs whose attack is kept."""
        with damage_as_error(self.store):
            return {row[0] for row in self._connection.execute("SELECT idx FROM attacked")}

    def add(self, attacked: AttackedInput) -> None:
        """Keep the attack on one input: whole, on disk, when this returns."""
        body = json.dumps(attacked.to_dict(), allow_nan=False)
        moved = attacked.perturbation
        packed = None if moved is None else np.ascontiguousarray(moved, dtype="<f4").tobytes()
        row = (body, packed, *(attacked.pictures or (None, None)))
        with damage_as_error(self.store), self._connection as transaction:
            transaction.execute("BEGIN IMMEDIATE")
            transaction.execute(
                "INSERT INTO attacked VALUES (?, ?, ?, ?, ?, ?)",
                (attacked.index, *row, sum_of_attack(*row)),
            )

    def close(self) -> None:
        self._connection.close()
        self._lock.close()

    def __enter__(self) -> AttackWriter:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def attack_settings(run: Run) -> dict[str, Any] | None:
    """The settings of the run's attack; None where it was never attacked."""
    with damage_as_error(run.store):
        return read_settings(run.connection, run.store)


def attacked_inputs(run: Run) -> dict[int, AttackedInput]:
    """What the attack found, by input, in order; empty where the run was never attacked."""
    with damage_as_error(run.store):
        if not _has_attack(run.connection):
            return {}
        rows = run.connection.execute("SELECT * FROM attacked ORDER BY idx").fetchall()
    return {row[0]: _read(row, run) for row in rows}


def read_settings(connection: sqlite3.Connection, store: Path) -> dict[str, Any] | None:
    """The settings after their checksum was compared."""
    if not _has_attack(connection):
        return None
    rows = connection.execute("SELECT settings, checksum FROM attack").fetchall()
    if not rows:
        return None
    if len(rows) > 1 or rows[0][1] != checksum_of(rows[0][0]):
        raise StoreCorrupted(damaged(store, "the checksum of its attack does not match"))
    settings: dict[str, Any] = json.loads(rows[0][0])
    return settings


def _has_attack(connection: sqlite3.Connection) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'attack'"
    return connection.execute(query).fetchone() is not None


def _read(row: Sequence[Any], run: Run) -> AttackedInput:
    index, body, moved, *pictures, checksum = row
    if checksum != sum_of_attack(body, moved, *pictures):
        raise StoreCorrupted(
            damaged(run.store, f"the checksum of the attack on input {index} does not match")
        )
    try:
        shape = tuple(run.config["model"]["input_shape"])
        perturbation = None if moved is None else np.frombuffer(moved, "<f4").reshape(shape)
        both = None if None in pictures else (pictures[0], pictures[1])
        return AttackedInput.from_dict(json.loads(body), perturbation, both)
    except (DataError, KeyError, ValueError) as error:
        raise StoreCorrupted(
            f"{run.store}: the attack on input {index} cannot be read: {error}"
        ) from error


def sum_of_attack(body: str, *blobs: bytes | None) -> str:
    joined = b"".join(len(blob or b"").to_bytes(8, "big") + (blob or b"") for blob in blobs)
    return checksum_of(body, joined)


def _difference(folder: Path, stored: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    lines = [
        f"  {name}: stored {stored.get(name)!r}, given {given.get(name)!r}"
        for name in sorted({*stored, *given})
        if stored.get(name) != given.get(name)
    ]
    return (
        f"{folder} holds an attack with other settings, and results are never mixed:\n"
        + "\n".join(lines)
        + "\nuse the stored settings to continue it, or --replace to attack anew"
    )
