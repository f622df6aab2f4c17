"""One input of a run: the record that is kept, its picture, and its rows under one checksum."""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import InvalidInput, StoreCorrupted, StoreError
from dsrs.files import Readable
from dsrs.methods import Plan
from dsrs.proofs import Certificate
from dsrs.store.opening import checksum_of, damaged
from dsrs.votes import SampledInput, Votes


@dataclass(frozen=True, slots=True, repr=False)
class RunResult(Readable):
    """The votes of one input, the certificate of each method, and a small picture of the input.

    `thumbnail` is a PNG, or None where the input is not an image.
    """

    sampled: SampledInput
    certificates: dict[str, Certificate] = field(default_factory=dict)
    thumbnail: bytes | None = None

    def facts(self) -> dict[str, object]:
        """What a person wants to know first."""
        proved = {name: certificate.facts() for name, certificate in self.certificates.items()}
        return {
            "input": self.index,
            "label": self.label,
            "class": self.sampled.target,
            **{
                name: f"{own['status']}, l2 radius {own['l2 radius']}"
                for name, own in proved.items()
            },
            "votes": self.sampled.inventory(),
        }

    @property
    def index(self) -> int:
        return self.sampled.index

    @property
    def label(self) -> int | None:
        return self.sampled.label

    @property
    def predicted(self) -> int | None:
        return self.sampled.predicted

    @property
    def target(self) -> int:
        """The class that the certificates are for."""
        if self.sampled.target is None:
            raise InvalidInput(f"input {self.index} has no class to certify yet")
        return self.sampled.target

    @property
    def votes(self) -> tuple[Votes, ...]:
        return self.sampled.votes

    @property
    def queries(self) -> int | None:
        return self.sampled.queries

    @property
    def seconds(self) -> float:
        return self.sampled.seconds


# ---- A small PNG of an input, for reports: written by hand, so that it needs no imaging library

MAX_SIDE = 64
_GREY, _RGB = 0, 2  # PNG colour types


def thumbnail(x: NDArray[np.float32], bounds: tuple[float, float] = (0.0, 1.0)) -> bytes | None:
    """PNG of an input (channels, height, width) or (height, width); None for other shapes."""
    image = x[None] if x.ndim == 2 else x
    if image.ndim != 3 or image.shape[0] not in (1, 3):
        return None
    lower, upper = bounds
    scaled = np.clip((_shrunk(image) - lower) / (upper - lower), 0.0, 1.0)
    return png(np.round(scaled * 255).astype(np.uint8))


def png(pixels: NDArray[np.uint8]) -> bytes:
    """PNG bytes of (1 or 3, height, width) pixels."""
    channels, height, width = pixels.shape
    rows = pixels.transpose(1, 2, 0).reshape(height, width * channels)
    # Each line starts with its filter type, 0 for none.
    lines = np.hstack([np.zeros((height, 1), np.uint8), rows]).tobytes()
    colour = _GREY if channels == 1 else _RGB
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(lines, 9))
        + _chunk(b"IEND", b"")
    )


def _shrunk(image: NDArray[np.float32]) -> NDArray[np.float64]:
    """Means over square blocks, so that no side is above MAX_SIDE."""
    _, height, width = image.shape
    block = -(-max(height, width) // MAX_SIDE)
    rows, columns = np.arange(0, height, block), np.arange(0, width, block)
    sums = np.add.reduceat(image.astype(np.float64), rows, axis=1)
    sums = np.add.reduceat(sums, columns, axis=2)
    # The last blocks may be cut by the border.
    tall, wide = np.diff(rows, append=height), np.diff(columns, append=width)
    means: NDArray[np.float64] = sums / (tall[:, None] * wide[None, :])
    return means


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


# ---- Rows of the three tables

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
