"""The examples on tabular data and on texts run as they are documented, and certify."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dsrs.cli.main import main
from dsrs.store import open_run

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> ModuleType:
    found = importlib.util.spec_from_file_location(f"{name}_example", EXAMPLES / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_tabular(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    tabular = example("tabular")
    assert tabular.main(["--output", str(tmp_path), "--votes", "500"]) == 0
    shown = capsys.readouterr().out
    assert "$ dsrs certify --model" in shown
    assert "half of the patients have a radius of 0.3" in shown
    with open_run(tmp_path / "run") as run:
        results = list(run.results())
        assert run.config["model"]["scaling"]["features"][0]["name"] == "mean radius"
        assert run.config["data"]["class_names"] == ["benign", "malignant"]
    right = [one for one in results if one.target == one.label]
    certified = [one.certificates["np"].radius > 0.1 for one in right]
    # 91% were certified at 0.1 with 2,000 votes.
    assert sum(certified) > 0.85 * len(results)
    # A feature alone may move by its share: the model itself agrees where the margin is linear.
    units = tabular.scaling()
    x = units.to_scaled(tabular.data().data[tabular.TRAINED :])
    assert x.min() >= 0
    assert x.max() <= 1


def test_one_sigma_for_all_features_is_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One pair of bounds for all features, which once certified nothing, is exact enough now."""
    pytest.importorskip("sklearn")
    tabular = example("tabular")
    tabular.write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    words = ["certify", "--model", f"{EXAMPLES / 'tabular.py'}:model", "--data", "test.csv"]
    words += ["--label-column", "diagnosis", "--bounds", "0", "5000", "--sigma", "0.005"]
    words += ["--n", "200", "--stop", "20", "--q", "none", "--output", "run", "--json", "--quiet"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    with open_run("run") as run:
        radii = [one.certificates["np"].radius for one in run.results()]
    assert found["methods"]
    # Certified, but in units in which an area of 2,500 may change by 0.01: --scale says more.
    assert np.mean([radius > 0 for radius in radii]) >= 0.9
    assert max(radii) < 0.02


def test_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    text = example("text")
    words = ["--output", str(tmp_path), "--votes", "300", "--sentences", "12"]
    assert text.main(words) == 0
    shown = capsys.readouterr().out
    assert "are inside a certified ball" in shown
    assert "put in or left out are not covered" in shown
    with open_run(tmp_path / "run") as run:
        results = list(run.results())
        assert run.config["data"]["class_names"] == ["criticism", "praise"]
    radii = [one.certificates["np"].radius for one in results if one.target == one.label]
    assert sum(radius > 0.5 for radius in radii) >= 11
    # What is counted as covered is no farther away than the radius.
    table = np.eye(len(text.VOCABULARY))
    first = text.VOCABULARY[0]
    assert text.replacements(table, [first], 1.4) == []
    assert len(text.replacements(table, [first], 1.5)) == len(text.VOCABULARY) - 1
