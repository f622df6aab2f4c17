"""Where recorded data comes from: the public logs as a folder, or compact tables of the same runs.

The tables are `double_sampling.csv.gz` and its companions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import DataError, NotRecorded
from dsrs.files import open_csv
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs import Interval
from reproduction.logs import LogHeader
from reproduction.recorded import AccuracyByNorm, Floats, RecordedRun, RunName
from reproduction.recorded_logs import (
    LogFolder,
    NoiseNormLogs,
    fallback_interval,
    read_logs,
    read_noise_norm_logs,
)

DOUBLE_SAMPLING_TABLE = "double_sampling.csv.gz"
NEYMAN_PEARSON_TABLE = "neyman_pearson.csv.gz"
ACCURACY_BY_NORM = "accuracy_by_noise_norm.csv.gz"

Fields = dict[str, str]
NameOf = Callable[[Fields], RunName]
RunOf = Callable[[RunName, list[Fields]], RecordedRun]


def read_reference(folder: Path) -> list[RecordedRun]:
    """Every run of the compact tables in `folder`; either table may be missing, not both."""
    runs = []
    if (folder / DOUBLE_SAMPLING_TABLE).exists():
        runs += _grouped(
            folder / DOUBLE_SAMPLING_TABLE, _double_sampling_name, _double_sampling_run
        )
    if (folder / NEYMAN_PEARSON_TABLE).exists():
        runs += _grouped(folder / NEYMAN_PEARSON_TABLE, _neyman_pearson_name, _neyman_pearson_run)
    if not runs:
        raise DataError(
            f"expected {DOUBLE_SAMPLING_TABLE} or {NEYMAN_PEARSON_TABLE} in {str(folder)!r}, "
            "found neither"
        )
    return runs


def read_accuracy_by_norm(path: Path) -> list[AccuracyByNorm]:
    """The accuracy curves of `accuracy_by_noise_norm.csv.gz`, one record a model."""
    groups: dict[str, list[Fields]] = {}
    for row in _rows(path):
        groups.setdefault(row["model"], []).append(row)
    return [
        AccuracyByNorm(
            model,
            _law(rows[0]),
            np.array([int(row["index"]) for row in rows], dtype=np.int64),
            _column(rows, "noise_norm"),
            _column(rows, "accuracy"),
        )
        for model, rows in groups.items()
    ]


def _grouped(path: Path, name_of: NameOf, run_of: RunOf) -> list[RecordedRun]:
    groups: dict[RunName, list[Fields]] = {}
    try:
        for row in _rows(path):
            groups.setdefault(name_of(row), []).append(row)
        return [run_of(name, rows) for name, rows in groups.items()]
    except KeyError as missing:
        raise DataError(f"{path.name}: expected a column {missing}, found none") from None
    except (TypeError, ValueError) as error:
        raise DataError(f"{path.name}: {error}") from None


def _double_sampling_name(row: Fields) -> RunName:
    return RunName(
        row["model"],
        _law(row),
        int(row["n"]),
        float(row["alpha"]),
        row["q_shape"],
        row["q_rule"],
    )


def _double_sampling_run(name: RunName, rows: list[Fields]) -> RecordedRun:
    """A fall-back row of the table has the interval of all votes in the place of Q's."""
    index = _indices(rows)
    p = np.stack([_column(rows, "p_lower"), _column(rows, "p_upper")])
    q = np.stack([_column(rows, "q_lower"), _column(rows, "q_upper")])
    fallback = np.array([row["fallback"] == "1" for row in rows])
    header = LogHeader(name.law.k, name.law.sigma, name.n, name.alpha, name.rule)
    notes = {}
    for place in np.flatnonzero(fallback).tolist():
        first, logged = (Interval(*map(float, ends[:, place])) for ends in (p, q))
        of_all_votes, note = fallback_interval((first,), logged, header)
        if of_all_votes is None:
            raise DataError(f"input {index[place]} of {name.text} is no fall-back of its rule")
        p[:, place] = of_all_votes.lower, of_all_votes.upper
        q[:, place] = np.nan
        if note:
            notes[int(index[place])] = note
    radius, q_value = _column(rows, "radius"), _column(rows, "q_value")
    return RecordedRun(
        name, index, p[0], p[1], radius, q_value, q[0], q[1], fallback=fallback, notes=notes
    )


def _neyman_pearson_name(row: Fields) -> RunName:
    return RunName(row["model"], _law(row), int(row["n"]), float(row["alpha"]))


def _neyman_pearson_run(name: RunName, rows: list[Fields]) -> RecordedRun:
    return RecordedRun(
        name=name,
        index=_indices(rows),
        p_lower=_column(rows, "p_lower"),
        p_upper=_column(rows, "p_upper"),
        recorded_radius=_column(rows, "radius"),
    )


def _law(row: Fields) -> GeneralizedGaussian:
    return GeneralizedGaussian(int(row["d"]), float(row["sigma"]), float(row["k"]))


def _indices(rows: list[Fields]) -> NDArray[np.int64]:
    return np.array([int(row["index"]) for row in rows], dtype=np.int64)


def _column(rows: list[Fields], name: str) -> Floats:
    # An empty cell (the value of Q in a fallback row) is "not there".
    return np.array([float(row[name]) if row[name] else np.nan for row in rows])


def _rows(path: Path) -> Iterator[Fields]:
    with open_csv(path) as table:
        if "model" not in table.header:
            raise DataError(f"cannot read {str(path)!r}: it has no column `model`")
        for row in table.good_rows(str(path)):
            yield row.cells


class PublicLogs:
    """The folder that holds `sampling`, `orig-radius`, `new-radius`, `landscape_sampling`."""

    def __init__(self, folder: Path) -> None:
        self.logs: Path | None = folder
        self._folder = folder

    @cached_property
    def recorded(self) -> LogFolder:
        """Runs, radii, and what could not be read."""
        return read_logs(self._folder)

    def accuracy_by_norm(self) -> NoiseNormLogs:
        """Accuracy on spheres of noise, one record a model, and what could not be read."""
        return read_noise_norm_logs(self._folder)


class CompactTables:
    """The folder that holds `double_sampling.csv.gz` and its companions."""

    logs: Path | None = None  # no logs of their own

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def recorded(self) -> LogFolder:
        """Runs; a table that cannot be read raises."""
        return LogFolder(read_reference(self._folder), [], [], [])

    def accuracy_by_norm(self) -> NoiseNormLogs:
        """Accuracy on spheres of noise, one record a model."""
        path = self._folder / ACCURACY_BY_NORM
        if not path.exists():
            raise NotRecorded(f"expected {ACCURACY_BY_NORM} in {str(self._folder)!r}, found none")
        return NoiseNormLogs(read_accuracy_by_norm(path))


RecordedSource = PublicLogs | CompactTables
