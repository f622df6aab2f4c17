"""Small runs of every kind, to check and to forge, and the checker inside this process."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dsrs.certifying import certify_run
from dsrs.classifiers import from_callable
from dsrs.datasets import Dataset
from dsrs.evidence import Evidence, Verdict, evidence_of
from dsrs.evidence.checking import checker_path
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.methods import Plan, certificates_of
from dsrs.store import (
    CERTIFICATE_COLUMNS,
    INPUT_COLUMNS,
    STORE_NAME,
    InputRows,
    RunResult,
    checksum_of,
    rows_of_index,
    start_run,
)
from dsrs.votes import SampledInput

Line = dict[str, Any]

WIDE, GAUSSIAN = GeneralizedGaussian(16, 0.5, 6), GeneralizedGaussian(16, 0.5)
NARROW = GeneralizedGaussian(16, 0.15, 6)
GRID = Grid.of_bounds((0.0, 1.0))
_generator = np.random.default_rng(3)
WEIGHTS = 2 * _generator.normal(size=(16, 3))
INPUTS = _generator.random((3, 16)).astype(np.float32)
# Near the middle of three classes; nearly sure; a class that leads without a majority.
INPUTS[0] *= 0.1
INPUTS[1] = WEIGHTS[:, 0] > WEIGHTS[:, 1:].max(axis=1)
INPUTS[2] = 0.15 * INPUTS[1] + 1e-4

PLANS = {
    "np": Plan(WIDE, ("np",), n=1000),
    "double": Plan(
        GAUSSIAN, ("np", "tailored", "rescaled:0.8x", "truncated:heuristic", "truncated:0.6"), n=600
    ),
    "tailored": Plan(WIDE, ("np", "tailored"), n=4000, grid=GRID),
    "no pilot": Plan(GAUSSIAN, ("np", "tailored"), n=200),
    "fallback": Plan(NARROW, ("rescaled:0.8x", "truncated:paper-heuristic"), n=400, fallback=True),
    "radius": Plan(GAUSSIAN, ("np", "tailored"), n=4000, radius=0.3, early_stop=True),
    "radii": Plan(GAUSSIAN, ("np",), n=500, radii=(0.1, 0.2)),
    "grid": Plan(GAUSSIAN, ("np", "tailored", "rescaled:0.8x"), n=600, grid=GRID),
    "family": Plan(GAUSSIAN, ("np", "rescaled:0.8x"), n=600).for_all_of(3, 0.05),
    "leading": Plan(WIDE, ("np",), n=3000, classes="all", target="predicted"),
    "leading double": Plan(
        WIDE, ("truncated:heuristic", "rescaled:0.8x"), n=3000, classes="all", target="predicted"
    ),
}


# ------------------------------------------------------------------------------- real small runs


def classify(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.argmax(rows.reshape(len(rows), -1) @ WEIGHTS, axis=1))


def within_slab(rows: np.ndarray) -> np.ndarray:
    """0 in a slab around a half: its gradient at the middle is 0."""
    return (np.abs(rows.reshape(len(rows), -1)[:, 0] - 0.5) > 0.9).astype(int)


def make_run(folder: Path, plan: Plan) -> Path:
    data = Dataset.from_arrays(INPUTS.reshape(-1, 1, 4, 4), classify(INPUTS).tolist())
    model = from_callable(classify, (1, 4, 4), 3)
    certify_run(model, data, plan, list(range(len(INPUTS))), folder, workers=1)
    return folder


def keep_run(folder: Path, plan: Plan, inputs: Iterable[SampledInput]) -> Path:
    """A run of votes that were simulated."""
    config = {
        "plan": plan.to_dict(),
        "model": {"description": "simulated", "fingerprint": "simulated"},
        "data": {"name": "simulated", "fingerprint": "simulated", "labels": True},
        "device": "cpu",
        "versions": {},
    }
    with start_run(folder, config) as writer:
        for seen in inputs:
            writer.add(RunResult(seen, certificates_of(seen, plan)))
    return folder


# ------------------------------------------------------------------------- the checker, in process


@cache
def checker() -> Any:
    """The program that `dsrs check` runs, as a module."""
    name = "checker_in_tests"
    spec = importlib.util.spec_from_file_location(name, checker_path())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def verdicts(proof: Evidence | str | bytes, module: Any = None) -> list[Verdict]:
    """What the checker says of a proof file, without a process for it. Raises its Unreadable."""
    return list(each_verdict(proof, module))


def each_verdict(proof: Evidence | str | bytes, module: Any = None) -> Iterator[Verdict]:
    text = proof.text() if isinstance(proof, Evidence) else proof
    program = checker() if module is None else module
    for item in program.ProofFile(text.encode() if isinstance(text, str) else text).items:
        said = program.outcome(item)
        yield Verdict(said["name"], said["proved"], said.get("reason", ""))


def is_proved(proof: Evidence | str | bytes, module: Any = None) -> bool:
    """Whether a proof file claims something and all of it is proved."""
    program = checker() if module is None else module
    some = False
    try:
        for verdict in each_verdict(proof, program):
            if not verdict:
                return False
            some = True
    except program.Unreadable:
        return False
    return some


def verdict_of(source: Any) -> Verdict:
    """What `dsrs.check` would say of the one thing that a source claims."""
    (found,) = verdicts(evidence_of(source))
    return found


def lines_of(evidence: Evidence) -> list[Line]:
    """The lines of a proof file, to be changed."""
    return [json.loads(line) for line in evidence.text().splitlines()]


def text_of(lines: Iterable[Line]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


# -------------------------------------------------------------------------------- forged folders


def rewrite(folder: Path, index: int, change: str) -> None:
    """Change the certificates of an input inside a run, by SQL, with a checksum that fits."""
    with sqlite3.connect(folder / STORE_NAME) as connection:
        connection.execute(f"UPDATE certificate SET {change} WHERE idx = ?", (index,))
    connection.close()
    seal(folder, index)


def forge(
    folder: Path,
    index: int,
    method: str,
    *,
    certificate: Callable[[Line], Any] | None = None,
    votes: Callable[[list[Line]], Any] | None = None,
    fields: Mapping[str, Any] | None = None,
) -> None:
    """Change the proof and columns of a certificate, the votes or the fields of its input.

    `certificate` is given its columns with the proof read; `votes` the parts of the votes.
    """
    with sqlite3.connect(folder / STORE_NAME) as store:
        if certificate is not None:
            columns = ", ".join(CERTIFICATE_COLUMNS)
            query = f"SELECT {columns} FROM certificate WHERE idx = ? AND method = ?"
            row = store.execute(query, (index, method)).fetchone()
            line = dict(zip(CERTIFICATE_COLUMNS, row, strict=True))
            line["proof"] = json.loads(line["proof"])
            certificate(line)
            line["proof"] = json.dumps(line["proof"])
            marks = ", ".join(f"{name} = ?" for name in line)
            store.execute(
                f"UPDATE certificate SET {marks} WHERE idx = ? AND method = ?",
                (*line.values(), index, method),
            )
        if votes is not None:
            query = "SELECT body FROM votes WHERE idx = ? ORDER BY position"
            parts = [json.loads(body) for (body,) in store.execute(query, (index,))]
            votes(parts)
            store.execute("DELETE FROM votes WHERE idx = ?", (index,))
            store.executemany(
                "INSERT INTO votes VALUES (?, ?, ?)",
                [(index, position, json.dumps(part)) for position, part in enumerate(parts)],
            )
        for name, value in (fields or {}).items():
            store.execute(f"UPDATE input SET {name} = ? WHERE idx = ?", (value, index))
    store.close()
    seal(folder, index)


def seal(folder: Path, index: int) -> None:
    """Give the rows of an input the checksum that fits them."""
    store = folder / STORE_NAME
    with sqlite3.connect(store) as connection:
        (*fields, thumbnail, _), votes, certificates = rows_of_index(
            connection, index, store, INPUT_COLUMNS, CERTIFICATE_COLUMNS
        )
        rows = InputRows(fields, [body for (body,) in votes], certificates, thumbnail)
        connection.execute("UPDATE input SET checksum = ? WHERE idx = ?", (rows.checksum, index))
    connection.close()


def forge_config(folder: Path, change: Callable[[Line], Any]) -> None:
    """Change the config of a run, with a checksum that fits."""
    with sqlite3.connect(folder / STORE_NAME) as store:
        config = json.loads(store.execute("SELECT config FROM run").fetchone()[0])
        text = json.dumps(change(config))
        store.execute("UPDATE run SET config = ?, checksum = ?", (text, checksum_of(text)))
    store.close()
