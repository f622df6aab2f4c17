"""CSV files of tabular data: a line of names, then a row of numbers for each input."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dsrs.datasets.dataset import Dataset
from dsrs.errors import DataError, InvalidInput

CSV_LABEL_COLUMNS = ("label", "class", "target", "y")
CSV_SUFFIXES = (".csv", ".tsv")
CSV_SEPARATORS = (",", ";", "\t")


def load_csv(path: Path, label_column: str | None, bounds: tuple[float, float]) -> Dataset:
    """The rows of a CSV file: features of numbers, and labels if a column has them.

    Args:
        path: A file with the names of the columns in its first line, separated by commas,
            semicolons or tabs.
        label_column: The column of the labels; by default one named label, class, target or y.
            Whole numbers are classes; other labels are numbered in the order of their names.
        bounds: The least and the greatest value of a feature.
    """
    names, rows = _read(path)
    label = _label_index(names, label_column, path)
    labels, classes = (None, ()) if label is None else _labels([row[label] for row in rows], path)
    kept = [column for column in range(len(names)) if column != label]
    if not kept:
        raise DataError(f"{path}: expected at least one column of numbers beside the labels")
    features = np.array(
        [
            [_number(row, column, names, line, path) for column in kept]
            for line, row in enumerate(rows, start=2)
        ]
    )
    return Dataset.from_arrays(
        features,
        labels,
        name=str(path),
        bounds=bounds,
        class_names=classes,
        feature_names=[names[column] for column in kept],
    )


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    """The names of the columns and the rows below."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            first = stream.readline()
            separator = max(CSV_SEPARATORS, key=first.count)
            stream.seek(0)
            rows = [row for row in csv.reader(stream, delimiter=separator) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read as CSV: {error}") from error
    if len(rows) < 2:
        raise DataError(f"{path}: expected a line of names and at least one row, got {len(rows)}")
    names = [name.strip() for name in rows[0]]
    if all(_is_number(name) for name in names):
        raise DataError(
            f"{path}: expected the names of the columns in the first line, got the numbers "
            f"{', '.join(names[:3])}; put a line of names above them"
        )
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{path}: the column {name!r} stands there twice")
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(names):
            raise DataError(
                f"{path}, line {line}: expected {len(names)} values, as the first line names, got "
                f"{len(row)}"
            )
    return names, rows[1:]


def _label_index(names: Sequence[str], wanted: str | None, path: Path) -> int | None:
    if wanted is not None and wanted not in names:
        raise InvalidInput(
            f"{path} has no column {wanted!r}; its columns are {', '.join(names[:8])}"
            + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        )
    candidates = CSV_LABEL_COLUMNS if wanted is None else (wanted,)
    return next((index for index, name in enumerate(names) if name in candidates), None)


def _labels(values: list[str], path: Path) -> tuple[NDArray[np.float64] | list[int], list[str]]:
    """The class of each row, and the names of the classes if they have any."""
    if any(not value.strip() for value in values):
        raise DataError(f"{path}: a row has no label; fill it in, or leave the row out")
    if all(_is_number(value) for value in values):
        return np.array([float(value) for value in values]), []
    names = sorted({value.strip() for value in values})
    numbers = {name: number for number, name in enumerate(names)}
    return [numbers[value.strip()] for value in values], names


def _number(row: list[str], column: int, names: list[str], line: int, path: Path) -> float:
    text = row[column].strip()
    if _is_number(text):
        return float(text)
    what = "nothing" if not text else repr(text)
    raise DataError(
        f"{path}, line {line}: expected a number in the column {names[column]!r}, got {what}; "
        "write categories as numbers and fill in what is missing, or name the column of the labels "
        "with `label_column`"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
