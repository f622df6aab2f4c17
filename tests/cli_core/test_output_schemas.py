"""What `--json` prints is what output.schema.json says, field by field.

Further: `tests/conftest.py` holds everything that any test prints with --json against the schema.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from dsrs.cli import print_json, schema_of
from dsrs.cli.main import known_commands, main

MODEL = """
import numpy as np

def logits(batch):
    mean = batch.reshape(len(batch), -1).mean(axis=1)
    return (-400 * (mean[:, None] - np.array([0.2, 0.5, 0.8])) ** 2).astype(np.float32)
"""
NET = "--model three_greys:logits --data data.npz"
CERTIFY = f"certify {NET} --num-classes 3 --sigma 0.3 --n 200 --stop 6 --quiet --seed 1"
SETS = f"{NET} --sets sets.json --start 80 --quiet"
# What each shape of the schema is printed by; later commands use what earlier ones have written.
COMMANDS = {
    "certify": f"{CERTIFY} --output run",
    "certify-dry-run": f"{CERTIFY} --dry-run --output other",
    "attack": "attack run --budget 5000 --quiet --trust-code",
    "show": "show run",
    "show-index": "show run --index 2",
    "report": "report run --require inputs>=3 --resamples 100",
    "gate": "gate run --require accuracy@0.1>=0.01",
    "check": f"check run --sample 2 --votes 1 --quiet {NET} --num-classes 3",
    "recertify-run": "recertify run --alpha 0.01 --quiet",
    "recertify-table": "recertify run.csv --output again.csv --quiet",
    "compare": "compare run again.csv --resamples 100",
    "served": f"served run {NET.partition(' --data')[0]}",
    "predict": f"predict {NET} --num-classes 3 --sigma 0.3 --n 100 --stop 3 --radius 0.1",
    "radius": "radius --d 9 --sigma 0.3 --p 0.9 0.95",
    "radius-at": "radius --d 9 --sigma 0.3 --p 0.9 0.95 --at 0.1",
    "landscape": f"landscape {NET} --split test --votes 256 --stop 5 --output look --quiet",
    "tune": "tune --landscape look --n 1000",
    "adapt": f"adapt {NET} --num-classes 3 --by clip --n 200 --votes 64 --inputs 4 --reach 0.5 "
    "--output adapted --quiet",
    "doctor": "doctor --device cpu",
    "conformal-calibrate": f"conformal calibrate {NET} --sigma 0.1 --radius 0.05 --stop 80 "
    "--output sets.json --quiet",
    "conformal-predict": f"conformal predict {SETS.removesuffix(' --quiet')}",
    "conformal-report": f"conformal report {SETS} --shifts none",
    "conformal-curve": f"conformal curve {SETS} --radii 0,0.05 --run run",
    "conformal-tune": f"conformal tune {NET} --stop 40 --radius 0.05 --sigmas 0.1 --quiet",
}
SCHEMA = schema_of("gate")
SHAPES = {name: part for name, part in SCHEMA["$defs"].items() if "title" in part}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with labelled images and a model."""
    where, rng = tmp_path_factory.mktemp("schemas"), np.random.default_rng(0)
    labels = rng.integers(0, 3, 120)
    images = np.array([0.2, 0.5, 0.8])[labels][:, None, None, None] + np.zeros((120, 1, 3, 3))
    np.savez(where / "data.npz", images=(images * 255).astype(np.uint8), labels=labels)
    (where / "three_greys.py").write_text(MODEL)
    return where


def objects(part: Any) -> Iterator[dict[str, Any]]:
    """Every part of a schema that lists fields."""
    if isinstance(part, dict):
        if "properties" in part and isinstance(part["properties"], dict):
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from objects(inner)


@pytest.mark.parametrize("shape", COMMANDS)
def test_a_command_prints_what_its_schema_says(
    shape: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    if shape == "recertify-table" and not Path("run.csv").exists():
        assert main(["export", "run", "--format", "csv"]) == 0
        capsys.readouterr()
    assert main([*shlex.split(COMMANDS[shape]), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(schema_of(shape)).validate(printed)


def test_every_command_with_json_has_a_schema_and_a_test() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    with_json = {
        command.name
        for command in known_commands().leaves()
        if any(option.name == "--json" for option in command.all_options())
    }
    titles = {name: part["title"] for name, part in SHAPES.items() if name != "certificate"}
    assert titles.keys() == COMMANDS.keys()
    for name in with_json:
        assert any(title.startswith(f"{name} ") for title in titles.values()), name


def test_every_field_is_described_and_no_other_is_allowed() -> None:
    found = list(objects(SCHEMA))
    assert len(found) > 70
    for part in found:
        assert part.get("additionalProperties") is False or [*part["properties"]] == ["kind"], part
        for name, field in part["properties"].items():
            assert field.get("description"), f"{name} has no description"


def test_a_field_without_a_description_fails() -> None:
    with pytest.raises(jsonschema.ValidationError, match="'more' was unexpected"):
        print_json("radius-at", {"radius": 1, "least_probability": 1, "multipliers": [], "more": 1})
    with pytest.raises(jsonschema.ValidationError, match="'multipliers' is a required property"):
        print_json("radius-at", {"radius": 1, "least_probability": 1})


def test_infinity_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    table = {"rows": 1, "errors": 0, "certified": 1, "compared": 1, "improved": 0, "seconds": 0.1}
    means = ("mean_certified_radius", "mean_np_radius", "mean_compared_radius")
    print_json("recertify-table", {**table, **dict.fromkeys(means, np.inf), "output": "again.csv"})
    assert json.loads(capsys.readouterr().out)["mean_np_radius"] == "inf"
