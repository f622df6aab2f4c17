"""Inputs that chose a law are known in other files, by their content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli_certify.small_run import Certify, make_named_data
from dsrs.cli.main import main
from dsrs.store import open_run

MODEL = ["--model", "tiny_classifier:bright", "--num-classes", "2"]
FEW = ["--q", "none", "--n", "200"]


@pytest.fixture
def tuned(certify: Certify, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The content of tuned.json, whose law inputs 1, 4 and 6 of data.npz chose."""
    words = [*MODEL, "--data", "data.npz", "--indices", "1,4,6", "--split", "test", "--quiet"]
    assert main(["tune", *words, "--votes", "200", "--n", "300", "--output", "tuned.json"]) == 0
    capsys.readouterr()
    content: dict[str, Any] = json.loads(Path("tuned.json").read_text())
    return content


def inputs_of(run: str) -> list[int]:
    with open_run(run) as opened:
        return list(opened.indices())


def test_they_are_left_out_of_other_data(
    tuned: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a part of the images, in another order and type and without labels."""
    with np.load("data.npz") as data:
        np.savez("part.npz", images=data["images"][[7, 6, 5, 4]].astype(np.float64))
    certify = ["certify", *MODEL, "--data", "part.npz", "--sigma", "0.5", *FEW]
    assert main([*certify, "--leave-out", "tuned.json", "--output", "run"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said.count("left out 2 inputs that chose the law (known by their content)") == 1
    assert inputs_of("run") == [0, 2]
    only = ["--indices", "1,3", "--output", "none"]
    assert main([*certify, "--leave-out", "tuned.json", *only]) == 2
    assert "--leave-out leaves no input" in capsys.readouterr().err


def test_rows_of_a_table_are_known_by_salted_fingerprints(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    make_named_data(Path("all.csv"))
    head, *rows = Path("all.csv").read_text().splitlines()
    Path("part.csv").write_text("\n".join([head, *rows[2:5], ""]))
    words = ["--model", "tiny_classifier:named", "--sigma", "0.5", *FEW]
    assert main(["certify", *words, "--data", "all.csv", "--stop", "3", "--output", "look"]) == 0
    assert main(["tune", "--landscape", "look", "--output", "tuned.json", "--quiet"]) == 0
    named = json.loads(Path("tuned.json").read_text())["landscape"]["fingerprints"]
    assert all(each.startswith("salted:") for each in named)
    words += ["--data", "part.csv", "--leave-out", "tuned.json", "--output", "run"]
    assert main(["certify", *words]) == 0
    assert "left out 1 input that chose the law" in capsys.readouterr().err
    assert inputs_of("run") == [1, 2]


def test_a_file_without_fingerprints_says_that_nothing_is_left_out(
    tuned: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    looked = {key: tuned["landscape"][key] for key in ("votes", "inputs", "data")}
    Path("old.json").write_text(json.dumps(tuned | {"landscape": looked}))
    certify = ["certify", *MODEL, "--sigma", "0.5", *FEW, "--leave-out", "old.json"]
    assert main([*certify, "--data", "data.npz", "--output", "run"]) == 0
    assert inputs_of("run") == [0, 2, 3, 5, 7]
    assert "nothing is left out" not in capsys.readouterr().err
    with np.load("data.npz") as data:
        np.savez("part.npz", images=data["images"][:3])
    assert main([*certify, "--data", "part.npz", "--output", "part", "--quiet"]) == 0
    said = "--leave-out: old.json was chosen on other data; nothing is left out"
    assert capsys.readouterr().err.splitlines().count(said) == 1
    assert inputs_of("part") == [0, 1, 2]


def test_a_law_is_not_reported_on_what_chose_it_without_a_word(
    tuned: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with np.load("data.npz") as data:
        np.savez("part.npz", images=data["images"][3:])
    certify = ["certify", *MODEL, "--law", "tuned.json", *FEW]
    note = "chose this law, which looks better on them than it is; --leave-out tuned.json"
    for data_file, count in (("data.npz", "3 inputs of 8"), ("part.npz", "2 inputs of 5")):
        words = [*certify, "--data", data_file, "--output", f"run-{data_file}"]
        assert main(words) == 0
        assert f"note: {count} {note} certifies the others" in capsys.readouterr().err
    out = ["--leave-out", "tuned.json", "--output", "out"]
    assert main([*certify, "--data", "data.npz", *out]) == 0
    assert note not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"fingerprints": ["00"]}, "must have a fingerprint for each of its inputs"),
        ({"fingerprints": [1, 2, 3]}, "must have a fingerprint for each of its inputs"),
        ({"data": ["a"]}, "must name its data by a text"),
        ({"seed": "1"}, "its seed by a number"),
    ],
)
def test_files_with_other_content_are_refused(
    tuned: dict[str, Any],
    changed: dict[str, Any],
    reason: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("bad.json").write_text(json.dumps({"landscape": tuned["landscape"] | changed}))
    words = ["certify", *MODEL, "--data", "data.npz", "--sigma", "0.5", *FEW, "--output", "run"]
    assert main([*words, "--leave-out", "bad.json"]) == 2
    assert reason in capsys.readouterr().err


def test_data_without_splits_is_no_other_split_where_the_model_numbers_the_labels(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    make_named_data(Path("named.csv"))
    words = ["--model", "tiny_classifier:named", "--data", "named.csv", "--split", "train"]
    assert main(["landscape", *words, "--stop", "2", "--votes", "64", "--output", "look"]) == 0
    assert "on the test split" not in capsys.readouterr().err
