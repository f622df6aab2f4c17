"""One input as it is kept: rows of the three tables, under one checksum."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dsrs.errors import InvalidInput, StoreCorrupted, StoreError
from dsrs.methods import Plan
from dsrs.store.result import RunResult
from dsrs.store.schema import checksum_of, damaged

LARGEST_INDEX = 2**63 - 1  # of SQLite's integers
# The columns of an input and of a certificate, in their order.
INPUT_COLUMNS = (
    *("idx", "label", "predicted", "target", "choices", "seconds", "queries"),
    *("moved", "fingerprint", "undefended"),
)
CERTIFICATE_COLUMNS = (
    *("method", "status", "radius", "np_radius", "complete", "variation", "proof"),
)


class InputRows(NamedTuple):
    """The rows of one input in the tables: the values of INPUT_COLUMNS, a text for each part of the
    votes, the values of CERTIFICATE_COLUMNS for each certificate, and the picture."""

    fields: Sequence[Any]
    votes: Sequence[str]
    certificates: Sequence[Sequence[Any]]
    thumbnail: bytes | None

    @property
    def checksum(self) -> str:
        """Return the checksum of all rows of the input."""
        rows = [list(row) for row in self.certificates]
        content = [list(self.fields), list(self.votes), rows]
        return checksum_of(json.dumps(content), self.thumbnail)


def rows_of_result(result: RunResult, plan: Plan) -> InputRows:
    """The rows of a result; `plan` is that of its certificates."""
    sampled = result.sampled
    own = sampled.to_dict()
    named = own | {
        "idx": sampled.index,
        "choices": json.dumps(own["choices"]),
        "seconds": float(sampled.seconds),
        "moved": float(sampled.moved),
        "fingerprint": sampled.input,
    }
    fields = [named[name] for name in INPUT_COLUMNS]
    votes = [json.dumps(part) for part in own["votes"]]
    texts = {plan.name_of(text): text for text in plan.methods}
    for name, certificate in result.certificates.items():
        on_grid = (
            None if certificate.grid is None else (certificate.grid.grid, certificate.grid.moved)
        )
        if certificate.law != plan.law or on_grid not in (None, (plan.grid, sampled.moved)):
            raise InvalidInput(
                f"the certificate of input {sampled.index} by {name} is not of the law and the "
                "grid of this run"
            )
    certificates = [
        certificate_row(texts.get(name, name), certificate.to_dict())
        for name, certificate in result.certificates.items()
    ]
    return InputRows(fields, votes, certificates, result.thumbnail)


def certificate_row(method: str, body: Mapping[str, Any]) -> list[Any]:
    """The values of a certificate from its JSON; `method` is as the plan writes it."""
    values = {
        **body,
        "method": method,
        "complete": int(body.get("complete", True)),
        "variation": None if body["grid"] is None else body["grid"]["variation"],
        "proof": json.dumps(body["proof"], allow_nan=False),
    }
    return [
        float(values[name]) if values[name] in ("inf", "-inf") else values[name]
        for name in CERTIFICATE_COLUMNS
    ]


def read_rows(connection: sqlite3.Connection, index: int, store: Path) -> InputRows:
    """The rows of one input, after their checksum was compared."""
    fields, votes, certificates = rows_of_index(
        connection, index, store, INPUT_COLUMNS, CERTIFICATE_COLUMNS
    )
    *own, thumbnail, checksum = fields
    rows = InputRows(own, [body for (body,) in votes], certificates, thumbnail)
    if checksum != rows.checksum:
        raise StoreCorrupted(damaged(store, f"the checksum of input {index} does not match"))
    return rows


def rows_of_index(
    connection: sqlite3.Connection,
    index: int,
    store: Path,
    of_input: Sequence[str],
    of_certificate: Sequence[str],
) -> tuple[Sequence[Any], list[Sequence[Any]], list[Sequence[Any]]]:
    """Columns of the input with its picture and checksum, of its votes and of its certificates."""
    row = None
    if abs(index) <= LARGEST_INDEX:
        query = f"SELECT {', '.join(of_input)}, thumbnail, checksum FROM input WHERE idx = ?"
        row = connection.execute(query, (index,)).fetchone()
    if row is None:
        raise StoreError(f"{store} has no result of input {index}")
    votes, certificates = (
        connection.execute(
            f"SELECT {', '.join(columns)} FROM {table} WHERE idx = ? ORDER BY position", (index,)
        ).fetchall()
        for table, columns in (("votes", ("body",)), ("certificate", of_certificate))
    )
    return row, votes, certificates


def write_rows(transaction: sqlite3.Connection, rows: InputRows) -> None:
    """Insert the rows of one input."""
    index = rows.fields[0]
    parts = {
        f"input ({', '.join((*INPUT_COLUMNS, 'thumbnail', 'checksum'))})": [
            (*rows.fields, rows.thumbnail, rows.checksum)
        ],
        "votes": [(index, position, body) for position, body in enumerate(rows.votes)],
        "certificate": [(index, position, *row) for position, row in enumerate(rows.certificates)],
    }
    for table, values in parts.items():
        if values:
            marks = ", ".join("?" * len(values[0]))
            transaction.executemany(f"INSERT INTO {table} VALUES ({marks})", values)
