"""Run folders, read from their SQLite store without any other part of the package.

A store has one row of `run` (its config), and for each input a row of `input`, with `votes` and
`certificate` rows. In format 2 a certificate is one JSON text; in format 3 it has columns, and what
it shares with others (law, grid, distance to the grid) is kept once. Checksums find damage; a
forger can make them fit.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from dsrs.audit.reading import Fields, field, optional, parsed, shown
from dsrs.audit.verdicts import NotACertificate, Refuted, Unreadable

STORE_NAME = "run.sqlite"
APPLICATION_ID = int.from_bytes(b"DSRS", "big")
FORMATS = (2, 3)
# The columns of an input and of a certificate, in each format.
COLUMNS = {
    2: (
        "idx, label, predicted, target, choices, seconds, queries",
        "method, status, radius, body",
    ),
    3: (
        "idx, label, predicted, target, choices, seconds, queries, moved, fingerprint",
        "method, status, radius, np_radius, complete, variation, uniform, proof",
    ),
}
BUSY_SECONDS = 60.0  # to wait for a writer's transaction


class Stored(NamedTuple):
    """What a store holds of one input: its votes as JSON, rows of certificates, and its distance
    to the grid (format 3)."""

    votes: Fields
    certificates: list[tuple[Any, ...]]
    moved: Any


class RunFolder:
    """A run folder, opened for reading; raises Unreadable where it is none that is known."""

    def __init__(self, path: Path) -> None:
        self.store = path / STORE_NAME
        self._last: tuple[Any, Stored] | None = None
        if not self.store.is_file():
            raise Unreadable(f"{path} holds no run: there is no {STORE_NAME} in it")
        try:
            with closing(self._connect()) as connection:
                self.format = self._format(connection)
                config = self._config(connection)
                rows = connection.execute(
                    "SELECT idx, method FROM certificate ORDER BY 1, position"
                )
                self.keys: list[tuple[Any, str]] = [(index, str(name)) for index, name in rows]
        except sqlite3.Error as error:
            raise Unreadable(f"{self.store} cannot be read: {error}") from None
        self.plan = field(config, "plan", dict)
        self.sampled = optional(config, "sampled_plan", dict) or self.plan
        model = optional(config, "model", dict) or {}
        self.model: Any = model.get("fingerprint")

    def certificate(self, index: Any, method: str) -> Any:
        """The JSON of one certificate; Refuted where what is stored contradicts itself."""
        _, rows, moved = self._stored(index)
        named = [row for row in rows if row[0] == method]
        if len(named) != 1:
            raise Refuted(f"there are {len(named)} certificates of the method {shown(method)}")
        if self.format == 2:
            return _whole_certificate(*named[0])
        return self._joined_certificate(named[0], moved)

    def _joined_certificate(self, row: Sequence[Any], moved: Any) -> dict[str, Any]:
        """A certificate of format 3 from its columns, the plan and the distance to the grid."""
        _, status, radius, np_radius, complete, variation, uniform, proof = row
        grid = optional(self.plan, "grid", dict)
        if (grid is None) != (variation is None):
            raise Refuted("a grid belongs to votes on a grid, and to no others")
        return {
            "format": 3,
            "law": field(self.plan, "law", dict),
            "status": status,
            "radius": _text_if_infinite(radius),
            "np_radius": _text_if_infinite(np_radius),
            "complete": complete,
            "grid": None if grid is None else {**grid, "moved": moved, "variation": variation},
            "uniform": uniform,
            "proof": parsed(proof),
        }

    def votes(self, index: Any) -> Fields:
        """The JSON of the votes of one input."""
        return self._stored(index).votes

    def _stored(self, index: Any) -> Stored:
        """Everything of one input, read once for all of its certificates."""
        if self._last is None or self._last[0] != index:
            try:
                with closing(self._connect()) as connection:
                    self._last = (index, self._read(connection, index))
            except sqlite3.Error as error:
                raise Refuted(f"the store is damaged: {error}") from None
        return self._last[1]

    def _connect(self) -> sqlite3.Connection:
        # Read-write where it may be: only so can SQLite undo a transaction that was cut.
        mode = "rw" if os.access(self.store, os.W_OK) else "ro"
        connection = sqlite3.connect(
            f"{self.store.resolve().as_uri()}?mode={mode}", uri=True, timeout=BUSY_SECONDS
        )
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _format(self, connection: sqlite3.Connection) -> int:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            raise Unreadable(f"{self.store} is an SQLite database, but not of a dsrs run")
        if version not in FORMATS:
            known = " and ".join(map(str, FORMATS))
            raise Unreadable(f"{self.store} has format {version}; this check reads {known}")
        return int(version)

    def _config(self, connection: sqlite3.Connection) -> Fields:
        rows = connection.execute("SELECT config, checksum FROM run").fetchall()
        try:
            ((text, checksum),) = rows
            config = parsed(text)
        except (ValueError, NotACertificate) as error:
            raise Unreadable(f"the config of {self.store} cannot be read: {error}") from None
        if checksum != _checksum(text, None) or not isinstance(config, Mapping):
            raise Unreadable(f"{self.store} is damaged: the checksum of its config does not match")
        return config

    def _read(self, connection: sqlite3.Connection, index: Any) -> Stored:
        of_input, of_certificate = COLUMNS[self.format]
        row = connection.execute(
            f"SELECT {of_input}, thumbnail, checksum FROM input WHERE idx = ?", (index,)
        ).fetchone()
        if row is None:
            raise Refuted("its input has no row of its own")
        *own, thumbnail, checksum = row
        votes: list[Any] = connection.execute(
            "SELECT body FROM votes WHERE idx = ? ORDER BY position", (index,)
        ).fetchall()
        certificates = connection.execute(
            f"SELECT {of_certificate} FROM certificate WHERE idx = ? ORDER BY position", (index,)
        ).fetchall()
        bodies = [body for (body,) in votes]
        content = [own, votes if self.format == 2 else bodies, certificates]
        if checksum != _checksum(json.dumps(content, default=repr), thumbnail):
            raise Refuted("what is stored of its input was changed: the checksum does not match")
        _, label, _, target, choices, *rest = own
        fields = {
            "index": index,
            "label": label,
            "target": target,
            "choices": parsed(choices),
            "votes": [parsed(body) for body in bodies],
        }
        return Stored(fields, certificates, rest[2] if self.format == 3 else None)


def _whole_certificate(_: str, status: Any, radius: Any, body: Any) -> Any:
    """A certificate of format 2, whose columns must say what it says itself."""
    fields = parsed(body)
    if not isinstance(fields, Mapping):
        raise NotACertificate(f"expected a JSON object, got {shown(fields)}")
    if fields.get("status") != status or fields.get("radius") != _text_if_infinite(radius):
        raise Refuted(f"the run lists it as {shown(status)} with radius {shown(radius)}")
    return fields


def _text_if_infinite(value: Any) -> Any:
    """A column as JSON writes it."""
    return "inf" if value == float("inf") else value


def _checksum(text: Any, blob: Any) -> str:
    """SHA-256 of a text and of the bytes beside it."""
    content = blob if isinstance(blob, bytes) else b""
    return hashlib.sha256(str(text).encode(errors="replace") + b"\0" + content).hexdigest()
