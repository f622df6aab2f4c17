"""Reading a run folder: its config and its results, checked, never half."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dsrs.errors import DataError, InvalidInput, StoreCorrupted, StoreError
from dsrs.methods import Plan
from dsrs.proofs.certificate import Certificate
from dsrs.store.result import RunResult
from dsrs.store.schema import (
    SETTINGS_NAME,
    STORE_NAME,
    checksum_of,
    connect,
    damage_as_error,
    damaged,
    read_config,
)
from dsrs.votes.format_2 import of_format_2
from dsrs.votes.records import SampledInput

LARGEST_INDEX = 2**63 - 1  # of SQLite's integers


def open_run(path: str | Path) -> Run:
    """Open a run folder for reading; also while `dsrs certify` writes to it."""
    folder = existing_folder(path)
    return Run(folder, connect(folder / STORE_NAME, writable=False))


def existing_folder(path: str | Path) -> Path:
    """The folder at `path`, or StoreError."""
    folder = Path(path)
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise StoreError(f"{folder} {what}; expected the --output of `dsrs certify`")
    return folder


class Run:
    """A run folder. `with open_run(path) as run:` closes it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.store = path / STORE_NAME
        self.connection = connection
        with damage_as_error(self.store):
            self.config = read_config(connection, self.store)

    @property
    def plan_fields(self) -> dict[str, Any]:
        """`plan` as JSON."""
        return _plan_fields(self.config["plan"])

    @property
    def sampled_plan_fields(self) -> dict[str, Any]:
        """`sampled_plan` as JSON."""
        return _plan_fields(self.config.get("sampled_plan", self.config["plan"]))

    @property
    def plan(self) -> Plan:
        """The methods of the certificates, and how they spend alpha."""
        return Plan.from_dict(self.plan_fields)

    @property
    def sampled_plan(self) -> Plan:
        """What was sampled: `plan`, unless the run was certified again with another one."""
        return Plan.from_dict(self.sampled_plan_fields)

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """When the run was started or continued, and with which versions."""
        with damage_as_error(self.store):
            rows = self.connection.execute("SELECT started, versions FROM session ORDER BY rowid")
            return [{"started": started, "versions": json.loads(text)} for started, text in rows]

    @property
    def settings(self) -> str | None:
        """The text of its run.toml, the options that it was made with (but for which part)."""
        file = self.path / SETTINGS_NAME
        return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None

    def __len__(self) -> int:
        return len(self.indices())

    def indices(self) -> list[int]:
        """The finished inputs, in order."""
        with damage_as_error(self.store):
            return [row[0] for row in self.connection.execute("SELECT idx FROM input ORDER BY 1")]

    def results(self) -> Iterator[RunResult]:
        """The finished inputs, in order of their index."""
        for index in self.indices():
            yield self.result(index)

    def result(self, index: int) -> RunResult:
        """One finished input."""
        with damage_as_error(self.store):
            return read_result(self.connection, index, self.sampled_plan, self.store)

    def fields(self, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """One finished input as it is stored, in JSON: its votes, and each method's certificate."""
        with damage_as_error(self.store):
            votes, certificates, _ = read_fields(
                self.connection, index, self.sampled_plan, self.store
            )
            return votes, certificates

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def _plan_fields(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a plan; earlier versions added noise in float32, and seeds were given."""
    since = {"grid": None, "seed_public": True, "family_alpha": None, "family_size": None}
    return since | dict(stored)


def read_result(connection: sqlite3.Connection, index: int, plan: Plan, store: Path) -> RunResult:
    """One input with its votes and certificates, after its checksum was compared."""
    votes, certificates, thumbnail = read_fields(connection, index, plan, store)
    try:
        proved = {method: Certificate.from_dict(one) for method, one in certificates.items()}
        # The distance to the grid has no column of its own: every certificate tells it.
        moved = max((one.moved for one in proved.values()), default=0.0)
        sampled = replace(
            SampledInput.from_dict(votes, plan.law), moved=moved, grid=plan.known_grid
        )
        return RunResult(sampled, proved, thumbnail)
    except (InvalidInput, DataError, KeyError, TypeError) as error:
        raise StoreCorrupted(f"{store}: input {index} cannot be read: {error}") from error


def read_fields(
    connection: sqlite3.Connection, index: int, plan: Plan, store: Path
) -> tuple[dict[str, Any], dict[str, Any], bytes | None]:
    """The votes of one input, its certificates and its picture, as they are stored."""
    if abs(index) > LARGEST_INDEX:
        raise StoreError(f"{store} has no result of input {index}")
    row = connection.execute(
        "SELECT label, predicted, target, choices, seconds, queries, thumbnail, checksum "
        "FROM input WHERE idx = ?",
        (index,),
    ).fetchone()
    if row is None:
        raise StoreError(f"{store} has no result of input {index}")
    *fields, thumbnail, checksum = row
    votes = connection.execute(
        "SELECT body FROM votes WHERE idx = ? ORDER BY position", (index,)
    ).fetchall()
    certificates = connection.execute(
        "SELECT method, status, radius, body FROM certificate WHERE idx = ? ORDER BY position",
        (index,),
    ).fetchall()
    if checksum != checksum_of(content_of([index, *fields], votes, certificates), thumbnail):
        raise StoreCorrupted(damaged(store, f"the checksum of input {index} does not match"))
    label, predicted, target, choices, seconds, queries = fields
    try:
        sampled = {
            "index": index,
            "label": label,
            "predicted": predicted,
            "target": target,
            "votes": [json.loads(body) for (body,) in votes],
            "choices": json.loads(choices),
            "seconds": seconds,
            "queries": queries,
        }
        sampled = of_format_2(sampled)
        found = {method: json.loads(body) for method, _, _, body in certificates}
    except (InvalidInput, DataError, KeyError, TypeError) as error:
        raise StoreCorrupted(f"{store}: input {index} cannot be read: {error}") from error
    return sampled, found, thumbnail


def content_of(
    fields: list[Any],
    votes: Sequence[tuple[str]],
    certificates: Sequence[tuple[str, str, float, str]],
) -> str:
    """Everything that is kept of one input, but its picture, as the text of its checksum."""
    return json.dumps([fields, votes, certificates])
