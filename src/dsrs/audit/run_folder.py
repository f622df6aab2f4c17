"""Run folders, read from their SQLite store without any other part of the package.

The store has one row of `run` (its config), and for each input a row of `input`, with `votes` and
`certificate` rows; what certificates share is kept once, in the plan and in `input`. Checksums find
damage; a forger can make them fit.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from dsrs.audit.reading import Fields, field, optional, parsed, shown, text_if_infinite
from dsrs.audit.verdicts import NotACertificate, Refuted, Unreadable

STORE_NAME = "run.sqlite"
APPLICATION_ID = int.from_bytes(b"DSRS", "big")
RUN_FORMAT = 3
READ_COLUMNS = (
    *("label", "predicted", "target", "choices", "seconds", "queries"),
    *("moved", "fingerprint", "undefended"),
)
CERTIFICATE_COLUMNS = (
    *("method", "status", "radius", "np_radius", "complete", "variation", "proof"),
)
BUSY_SECONDS = 60.0  # to wait for a writer's transaction


class RunFolder:
    """A run folder, opened for reading; raises Unreadable where it is none that is known."""

    def __init__(self, path: Path) -> None:
        self.store = path / STORE_NAME
        self._last: tuple[Any, Fields, list[tuple[Any, ...]]] | None = None
        if not self.store.is_file():
            raise Unreadable(f"{path} holds no run: there is no {STORE_NAME} in it")
        try:
            with closing(self._connect()) as connection:
                self._check_format(connection)
                config = self._config(connection)
                self.plan = field(config, "plan", dict)
                rows = connection.execute(
                    "SELECT idx, method FROM certificate ORDER BY 1, position"
                )
                self.keys: list[tuple[Any, str]] = [
                    (index, self._name(text)) for index, text in rows
                ]
            named = "sampled_plan" if "sampled_plan" in config else "plan"
            self.sampled = field(config, named, dict)
            model = optional(config, "model", dict) or {}
        except (sqlite3.Error, NotACertificate) as error:
            raise Unreadable(f"{self.store} cannot be read: {error}") from None
        self.model: Any = model.get("fingerprint")

    def certificate(self, index: Any, method: str) -> Any:
        """The JSON of one certificate; Refuted where what is stored contradicts itself."""
        votes, rows = self._stored(index)
        named = [row for row in rows if self._name(row[0]) == method]
        if len(named) != 1:
            raise Refuted(f"there are {len(named)} certificates of the method {shown(method)}")
        return self._assembled(votes, dict(zip(CERTIFICATE_COLUMNS, named[0], strict=True)))

    def _name(self, method: Any) -> str:
        """Return the name of a certificate: the first word of its method, unless another method
        of the plan shares it."""
        texts = optional(self.plan, "methods", list) or []
        words = [str(text).partition(":")[0] for text in texts]
        word = str(method).partition(":")[0]
        return word if words.count(word) == 1 else str(method)

    def votes(self, index: Any) -> Fields:
        """The JSON of the votes of one input."""
        return self._stored(index)[0]

    def _stored(self, index: Any) -> tuple[Fields, list[tuple[Any, ...]]]:
        """Everything of one input, read once for all of its certificates."""
        if self._last is None or self._last[0] != index:
            try:
                with closing(self._connect()) as connection:
                    self._last = (index, *self._read(connection, index))
            except sqlite3.Error as error:
                raise Refuted(f"the store is damaged: {error}") from None
        return self._last[1:]

    def _connect(self) -> sqlite3.Connection:
        # Read-write where it may be: only so can SQLite undo a transaction that was cut.
        mode = "rw" if os.access(self.store, os.W_OK) else "ro"
        connection = sqlite3.connect(
            f"{self.store.resolve().as_uri()}?mode={mode}", uri=True, timeout=BUSY_SECONDS
        )
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _check_format(self, connection: sqlite3.Connection) -> None:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            raise Unreadable(f"{self.store} is an SQLite database, but not of a dsrs run")
        if version != RUN_FORMAT:
            raise Unreadable(f"{self.store} has format {version}; this check reads {RUN_FORMAT}")
        # What a view gives may depend on who asks, and an index may leave rows out: also those of
        # constraints, which have no text of their own. SQLite writes each of these texts anew.
        others = connection.execute(
            "SELECT name FROM sqlite_master"
            " WHERE type <> 'table' OR sql IS NULL OR sql NOT LIKE 'create table %'"
        ).fetchall()
        if others:
            raise Unreadable(f"{self.store} holds more than tables: {shown(others[0][0])}")
        found = [row[0] for row in connection.execute("PRAGMA integrity_check(1)")]
        if found != ["ok"]:
            raise Unreadable(f"{self.store} is damaged: {shown(found[0] if found else None)}")

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

    def _read(
        self, connection: sqlite3.Connection, index: Any
    ) -> tuple[Fields, list[tuple[Any, ...]]]:
        rows = connection.execute(
            f"SELECT {', '.join(READ_COLUMNS)}, thumbnail, checksum FROM input WHERE idx = ?",
            (index,),
        ).fetchall()
        if len(rows) != 1:
            raise Refuted(f"its input has {len(rows)} rows, not one of its own")
        *own, thumbnail, checksum = rows[0]
        votes, certificates = (
            connection.execute(
                f"SELECT {columns} FROM {table} WHERE idx = ? ORDER BY position", (index,)
            ).fetchall()
            for table, columns in (
                ("votes", "body"),
                ("certificate", ", ".join(CERTIFICATE_COLUMNS)),
            )
        )
        bodies = [body for (body,) in votes]
        content = json.dumps([[index, *own], bodies, certificates], default=repr)
        if checksum != _checksum(content, thumbnail):
            raise Refuted("what is stored of its input was changed: the checksum does not match")
        known = dict(zip(READ_COLUMNS, own, strict=True))
        fields = known | {
            "index": index,
            "choices": parsed(known["choices"]),
            "votes": [parsed(body) for (body,) in votes],
        }
        return fields, certificates

    def _assembled(self, votes: Fields, row: Mapping[str, Any]) -> dict[str, Any]:
        """The certificate of a row, with what it shares with others."""
        grid = None
        if row["variation"] is not None:
            own = {"moved": votes["moved"], "variation": row["variation"]}
            grid = {**(optional(self.sampled, "grid", dict) or {}), **own}
        names = ("alpha", "n", "seed", "seed_public")
        return {
            "format": 3,
            "status": row["status"],
            "radius": text_if_infinite(row["radius"]),
            "np_radius": text_if_infinite(row["np_radius"]),
            "complete": bool(row["complete"]),
            "law": field(self.sampled, "law", dict),
            "grid": grid,
            "proof": parsed(row["proof"]),
            "subject": {
                "class": votes["target"],
                **{name: self.plan[name] for name in names if name in self.plan},
                "method": row["method"],
                "index": votes["index"],
                "model": self.model,
                "input": votes["fingerprint"],
            },
        }


def _checksum(text: Any, blob: Any) -> str:
    """Return the SHA-256 of a text and of the bytes beside it."""
    content = blob if isinstance(blob, bytes) else b""
    return hashlib.sha256(str(text).encode(errors="replace") + b"\0" + content).hexdigest()
