"""Runs remember their grid, and how far their inputs are from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dsrs.certifying.again import recertify_run
from dsrs.certifying.many_inputs import certify_run
from dsrs.classifiers import from_callable
from dsrs.datasets import Dataset
from dsrs.errors import StoreMismatch
from dsrs.exchange import export_run, import_rows
from dsrs.laws import GeneralizedGaussian
from dsrs.laws.grid import Grid
from dsrs.methods import Plan
from dsrs.proofs.checking import check
from dsrs.proofs.table import certify_row
from dsrs.store import open_run

D = 16
GRID = Grid.of_bounds((0.0, 1.0))
PLAN = Plan(GeneralizedGaussian(D, 0.5), ("np", "tailored"), n=600, batch=16, grid=GRID)
MODEL = from_callable(
    lambda batch: (batch.mean(axis=1) > 0.2).astype(np.int64), (D,), 2, fingerprint="mean"
)


def data() -> Dataset:
    images = GRID.values(np.arange(4 * D).reshape(4, D) * 32.0 + 1024)
    images[2:] += np.float32(0.3 / 4080)  # off the grid
    return Dataset.from_arrays(images, np.ones(4, dtype=np.int64), name="four")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    certify_run(MODEL, data(), PLAN, range(4), tmp_path / "run")
    return tmp_path / "run"


def test_the_distance_to_the_grid_is_kept(path: Path) -> None:
    with open_run(path) as run:
        assert run.plan.grid == GRID
        moved = [result.sampled.moved for result in run.results()]
        assert moved == [GRID.distance(data().input(index)) for index in range(4)]
        assert moved[0] == 0 < moved[2]
        for result in run.results():
            for found in result.certificates.values():
                assert found.moved == result.sampled.moved
                assert check(found)


def test_votes_are_certified_again_at_the_same_charge(path: Path, tmp_path: Path) -> None:
    recertify_run(path, output=tmp_path / "again")
    with open_run(path) as run, open_run(tmp_path / "again") as again:
        for one, other in zip(run.results(), again.results(), strict=True):
            assert one.certificates == other.certificates


def test_tables_keep_what_the_radius_rests_on(path: Path, tmp_path: Path) -> None:
    with open_run(path) as run:
        export_run(run, tmp_path / "rows.csv", "csv")
    for row in import_rows(tmp_path / "rows.csv"):
        fields = {name: getattr(row, name) for name in row.__slots__}
        again = certify_row({name: value for name, value in fields.items() if value is not None})
        assert (again.radius, again.status) == (row.radius, row.status)
        assert again.moved == row.moved
        assert check(again)


@pytest.mark.parametrize("grid", [None, Grid(1 / 1020)])
def test_a_run_is_not_continued_on_another_grid(path: Path, grid: Grid | None) -> None:
    with pytest.raises(StoreMismatch, match=r"plan\.grid"):
        certify_run(MODEL, data(), PLAN.replace(grid=grid), range(4), path)


def test_a_run_without_a_grid_goes_on_without_one(tmp_path: Path) -> None:
    path, plan = tmp_path / "old", PLAN.replace(grid=None)
    certify_run(MODEL, data(), plan, range(2), path)
    with pytest.raises(StoreMismatch, match="--grid none"):
        certify_run(MODEL, data(), PLAN, range(4), path)
    certify_run(MODEL, data(), plan, range(4), path)
    with open_run(path) as run:
        assert len(run) == 4
        assert all(one.grid is None for each in run.results() for one in each.certificates.values())
