"""Small runs of every kind, to audit and to forge."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np

from dsrs.audit import Verdict
from dsrs.audit.checking import check_certificate
from dsrs.audit.methods import BoundsFromVotes
from dsrs.audit.run_folder import RunFolder
from dsrs.certifying.many_inputs import certify_run
from dsrs.classifiers import from_callable
from dsrs.datasets import Dataset
from dsrs.laws import GeneralizedGaussian
from dsrs.laws.grid import Grid
from dsrs.methods import Plan
from dsrs.store.opening import STORE_NAME
from dsrs.store.rows import CERTIFICATE_COLUMNS, INPUT_COLUMNS, InputRows, rows_of_index

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
    "leading": Plan(WIDE, ("np",), n=3000, classes="all", target="predicted"),
    "leading double": Plan(
        WIDE, ("truncated:heuristic", "rescaled:0.8x"), n=3000, classes="all", target="predicted"
    ),
}


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


class Forgery:
    """All that a run says of one certificate, to be changed and checked."""

    def __init__(self, folder: Path, index: int, method: str) -> None:
        run = RunFolder(folder)
        self.plan, self.sampled = run.plan, run.sampled
        self.method, self.votes = method, run.votes(index)
        # Without a subject, which would contradict any other plan at once.
        self.certificate = json.loads(json.dumps(run.certificate(index, method)))
        self.certificate["subject"] = None
        self.proof = self.certificate["proof"]

    def checked(self) -> Verdict:
        copies = [json.loads(json.dumps(each)) for each in (self.plan, self.sampled, self.votes)]
        plan, sampled, votes = copies
        bounds = BoundsFromVotes(plan, sampled, self.method, votes)
        return check_certificate(self.certificate, "forged", bounds)


def rewrite(folder: Path, index: int, change: str) -> None:
    """Change the certificates of an input inside a run, by SQL, with a checksum that fits."""
    store = folder / STORE_NAME
    with sqlite3.connect(store) as connection:
        connection.execute(f"UPDATE certificate SET {change} WHERE idx = ?", (index,))
        (*fields, thumbnail, _), votes, certificates = rows_of_index(
            connection, index, store, INPUT_COLUMNS, CERTIFICATE_COLUMNS
        )
        rows = InputRows(fields, [body for (body,) in votes], certificates, thumbnail)
        connection.execute("UPDATE input SET checksum = ? WHERE idx = ?", (rows.checksum, index))
    connection.close()
