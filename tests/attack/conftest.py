"""A small certified run whose true radii are known, made by `dsrs certify`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attack.certified_lines import FIRST, FORGED, certify
from dsrs.store import open_run, start_run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with images and the model's file in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    images = np.full((len(FIRST), 3, 3), 0.5, np.float32)
    images[:, 0, 0] = FIRST
    np.savez("data.npz", images=images, labels=np.array([1, 1, 1, 0]))
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A run of four inputs, all certified."""
    certify()
    capsys.readouterr()
    return folder / "run"


@pytest.fixture
def forged(run: Path) -> Callable[[float], Path]:
    """Makes a copy of the run in which one certificate claims `factor` times its true radius."""

    def make(factor: float) -> Path:
        output = run.with_name("forged")
        with open_run(run) as opened, start_run(output, opened.config) as writer:
            for result in opened.results():
                if result.index == FORGED:
                    wrong = replace(result.certificates["np"], radius=factor * (0.7 - 0.2))
                    result = replace(result, certificates={"np": wrong})
                writer.add(result)
        return output

    return make
