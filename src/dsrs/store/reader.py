"""Reading a run folder: its config and its results, checked, never half; and the votes it took."""

from __future__ import annotations

import json
import sqlite3
import statistics
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dsrs.errors import DataError, InvalidInput, StoreCorrupted, StoreError
from dsrs.files import Readable, to_json
from dsrs.methods import Plan, subject_of
from dsrs.proofs import CERTIFICATE_FORMAT, Certificate
from dsrs.store.opening import (
    ASKED,
    SETTINGS_NAME,
    STORE_NAME,
    connect,
    damage_as_error,
    ranges_of,
    read_config,
)
from dsrs.store.rows import CERTIFICATE_COLUMNS, INPUT_COLUMNS, InputRows, RunResult, read_rows
from dsrs.votes import SampledInput


def open_run(path: str | Path) -> Run:
    """Open a run folder for reading; also while `dsrs certify` writes to it.

    Args:
        path: the run folder.
    """
    folder = existing_folder(path)
    return Run(folder, connect(folder / STORE_NAME, writable=False))


def drawn_seed(path: str | Path) -> int | None:
    """The seed that the run in this folder drew for itself; None where there is none."""
    if not (Path(path) / STORE_NAME).is_file():
        return None
    with open_run(path) as run:
        return None if run.plan.seed_public else run.plan.seed


def existing_folder(path: str | Path) -> Path:
    """The folder at `path`, or StoreError."""
    folder = Path(path)
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise StoreError(f"{folder} {what}; expected the --output of `dsrs certify`")
    return folder


class Run(Readable):
    """A run folder that is open for reading. `with open_run(path) as run:` closes it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.store = path / STORE_NAME
        self.connection = connection
        with damage_as_error(self.store):
            self.config = read_config(connection, self.store)

    def facts(self) -> dict[str, object]:
        """Return what the run's representation shows."""
        plan = self.plan
        return {
            "path": self.path,
            "inputs": len(self),
            "methods": " and ".join(plan.names),
            "noise": plan.law.describe(),
            "n": f"{plan.n:,}",
            "alpha": f"{plan.alpha:g}",
            "model": self.config["model"]["description"],
            "data": self.config["data"]["name"],
        }

    @property
    def sampled_plan_fields(self) -> dict[str, Any]:
        """Return `sampled_plan` as JSON."""
        return dict(self.config.get("sampled_plan", self.config["plan"]))

    @cached_property
    def plan(self) -> Plan:
        """The methods of the certificates, and how they spend alpha."""
        return Plan.from_dict(self.config["plan"])

    @cached_property
    def sampled_plan(self) -> Plan:
        """What was sampled: `plan`, unless the run was certified again with another one."""
        return Plan.from_dict(self.sampled_plan_fields)

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """When the run was started or continued, with which versions, and for which inputs.

        `asked` is None for sessions of runs that were not sampled.
        """
        with damage_as_error(self.store):
            rows = self.connection.execute("SELECT started, versions FROM session ORDER BY rowid")
            found = []
            for started, text in rows:
                known = json.loads(text)
                asked = known.pop(ASKED, None)
                found.append({"started": started, "versions": known, ASKED: asked})
            return found

    @property
    def asked(self) -> set[int] | None:
        """The inputs that its sessions were asked for; None where one does not say it."""
        texts = [session[ASKED] for session in self.sessions]
        return None if None in texts else set().union(*map(ranges_of, texts))

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
        """Read one finished input."""
        rows = self._rows(index)
        with self._reading(index):
            sampled = self._sampled(rows)
            certificates = self._certificates(rows, sampled)
            proved = {name: Certificate.from_dict(one) for name, one in certificates.items()}
            return RunResult(sampled, proved, rows.thumbnail)

    def fields(self, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """One finished input in JSON: its votes, and each method's certificate, by name."""
        rows = self._rows(index)
        with self._reading(index):
            sampled = self._sampled(rows)
            return sampled.to_dict(), self._certificates(rows, sampled)

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _rows(self, index: int) -> InputRows:
        with damage_as_error(self.store), self._reading(index):
            return read_rows(self.connection, index, self.store)

    @contextmanager
    def _reading(self, index: int) -> Iterator[None]:
        """Rows that cannot be understood, although their checksum is right, are damage."""
        try:
            yield
        except (InvalidInput, DataError, KeyError, TypeError) as error:
            raise StoreCorrupted(f"{self.store}: input {index} cannot be read: {error}") from error

    def _sampled(self, rows: InputRows) -> SampledInput:
        """The votes of one input."""
        own = dict(zip(INPUT_COLUMNS, rows.fields, strict=True))
        fields = own | {
            "index": own.pop("idx"),
            "choices": json.loads(own["choices"]),
            "votes": [json.loads(body) for body in rows.votes],
            "model": self.config["model"]["fingerprint"],
            "grid": self.sampled_plan_fields["grid"],
            "input": own.pop("fingerprint"),
        }
        return SampledInput.from_dict(fields, self.sampled_plan.law)

    def _certificates(self, rows: InputRows, sampled: SampledInput) -> dict[str, dict[str, Any]]:
        """The certificates of one input, as `Certificate.to_dict` writes them, by name."""
        classes = dict(enumerate(self.config["data"].get("class_names", ())))
        class_name = None if sampled.target is None else classes.get(sampled.target)
        certificates = {}
        for row in rows.certificates:
            own = dict(zip(CERTIFICATE_COLUMNS, row, strict=True))
            method, variation = own.pop("method"), own.pop("variation")
            on_grid = {"moved": sampled.moved, "variation": variation}
            name = self.plan.name_of(method)
            if name in certificates:
                raise DataError(f"it has two certificates of the method {name}")
            certificates[name] = {
                "format": CERTIFICATE_FORMAT,
                **own,
                "radius": to_json(own["radius"]),
                "np_radius": to_json(own["np_radius"]),
                "complete": bool(own["complete"]),
                "law": self.sampled_plan_fields["law"],
                "grid": None if variation is None else self.sampled_plan_fields["grid"] | on_grid,
                "proof": json.loads(own["proof"]),
                "subject": to_json(subject_of(sampled, self.plan, method, class_name)),
            }
        return certificates


# ---- What a run cost in model queries, and what stopping in time saved


@dataclass(frozen=True, slots=True)
class VotesSpent:
    """Model queries of a run, input by input, and the most that its plan allowed an input.

    A query is a row that the model ran: votes, with the rows that fill a batch. Where nobody
    counted rows the votes stand for them. `most` is None for plans that
    take the same votes for every input.
    """

    by_input: tuple[int, ...]
    most: int | None

    @property
    def total(self) -> int:
        return sum(self.by_input)

    @property
    def times_fewer(self) -> float | None:
        """How many times fewer queries than the most."""
        if self.most is None or not self.total:
            return None
        return self.most * len(self.by_input) / self.total

    def text(self) -> str:
        """Return the queries in a line, and how many fewer they are than the most."""
        if not self.by_input:
            return "no votes yet"
        said = f"{self.total:,} model queries"
        if self.most is None or self.times_fewer is None:
            return said
        middle = statistics.median_low(self.by_input)
        times = f"{self.times_fewer:,.0f}" if self.times_fewer >= 100 else f"{self.times_fewer:.1f}"
        return (
            f"{said}, {times} times fewer than {self.most:,} an input "
            f"(median {middle:,}, most {max(self.by_input):,})"
        )


def votes_spent(results: Iterable[RunResult], plan: Plan) -> VotesSpent:
    """What these inputs cost under the plan that sampled them."""
    by_input = tuple(
        sum(votes.total for votes in result.votes) if result.queries is None else result.queries
        for result in results
    )
    most = plan.n * len(plan.methods)
    return VotesSpent(by_input, None if plan.goal.is_open else most)
