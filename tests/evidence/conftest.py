"""Small runs that tests share, each made once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evidence.small_runs import PLANS, make_run

Runs = Callable[[str], Path]


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The run of a plan, to be read only."""
    folder = tmp_path_factory.mktemp("runs")

    def made(name: str) -> Path:
        path = folder / name
        return path if path.exists() else make_run(path, PLANS[name])

    return made


@pytest.fixture
def copied(runs: Runs, tmp_path: Path) -> Runs:
    """A copy of the run of a plan, to be forged: a new one each time."""

    def made(name: str) -> Path:
        number = sum(1 for _ in tmp_path.iterdir())
        return Path(shutil.copytree(runs(name), tmp_path / f"{name} {number}"))

    return made
