"""CSV: features, labels by number or by name, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dsrs.datasets import load_dataset
from dsrs.errors import DataError, InvalidInput


def written(folder: Path, text: str, name: str = "t.csv") -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_features_and_labels(tmp_path: Path, separator: str) -> None:
    text = "a,label,b\n0.5,1,0.25\n1,0,0\n".replace(",", separator)
    data = load_dataset(written(tmp_path, text))
    assert data.feature_names == ("a", "b")
    assert np.asarray(data.images).tolist() == [[0.5, 0.25], [1.0, 0.0]]
    assert (data.label(0), data.label(1), data.class_names) == (1, 0, ())


def test_labels_by_name_are_numbered_in_their_order(tmp_path: Path) -> None:
    data = load_dataset(written(tmp_path, "a,kind\n0,red\n1,blue\n"), label_column="kind")
    assert (data.label(0), data.label(1)) == (1, 0)
    assert data.class_names == ("blue", "red")
    again = data.numbered_as(("red", "green", "blue"))
    assert (again.label(0), again.label(1)) == (0, 2)
    assert again.fingerprint != data.fingerprint


def test_without_labels(tmp_path: Path) -> None:
    assert load_dataset(written(tmp_path, "a,b\n0,1\n")).labels is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a line of names and at least one row, got 0"),
        ("0,1\n1,0\n", "expected the names of the columns in the first line, got the numbers"),
        ("a,a\n0,1\n", "the column 'a' stands there twice"),
        ("a,b\n0\n", "line 2: expected 2 values"),
        ("a,b\n0,1\n0,\n", "line 3: expected a number in the column 'b', got nothing"),
        ("a,b\n0,red\n", "got 'red'; write categories as numbers"),
        ("a,label\n0,\n", "a row has no label"),
        ("a,label\n0,0.5\n", "labels must be whole numbers"),
        ("label\n1\n", "at least one column of numbers beside the labels"),
        ("a\n7\n", r"inputs must be numbers in \[0, 1\]"),
        ("a\nnan\n", "replace what is missing"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_dataset(written(tmp_path, text))


def test_wrong_options(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has no column 'kind'; its columns are a, b"):
        load_dataset(written(tmp_path, "a,b\n0,1\n"), label_column="kind")
    np.save(tmp_path / "x.npy", np.zeros((2, 3)))
    with pytest.raises(InvalidInput, match="`label_column` is for a CSV file"):
        load_dataset(tmp_path / "x.npy", label_column="kind")
