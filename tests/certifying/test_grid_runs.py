"""Runs remember their grid, and how far their inputs are from it."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from dsrs.certifying import certify_run, recertify_run, sample_input
from dsrs.classifiers import from_callable
from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput, StoreMismatch
from dsrs.exchange import export_run, import_rows
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.methods import Plan, certificates_of
from dsrs.proofs import certify_row, check
from dsrs.smoothed import SmoothedClassifier
from dsrs.store import open_run

D = 16
GRID = Grid.of_bounds((0.0, 1.0))
PLAN = Plan(GeneralizedGaussian(D, 0.5), ("np", "tailored"), n=600, batch=16, grid=GRID)
MODEL = from_callable(
    lambda batch: (batch.mean(axis=1) > 0.2).astype(np.int64), (D,), 2, fingerprint="mean"
)


def data() -> Dataset:
    images = GRID.values(np.arange(4 * D).reshape(4, D).astype(np.float64) * 32 + 1024)
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


def test_the_default_grid_leaves_tabular_data_as_it_is() -> None:
    """Values up to 5000 under noise of size 0.005: 4080 steps would be 1.2 each."""
    middle = from_callable(
        lambda batch: (batch[:, 0] > 2500).astype(np.int64),
        (4,),
        2,
        bounds=(0.0, 5000.0),
        fingerprint="middle",
    )
    x = np.array([2500.01, 3.0, 0.5, 4999.0], np.float32)
    law = GeneralizedGaussian(4, 0.005)
    found = {
        grid: SmoothedClassifier(middle, law, n=4000, method="np", seed=0, grid=grid).certify(x, 1)
        for grid in ("default", None)
    }
    assert found[None].status == found["default"].status == "certified"
    assert found["default"].radius > 0.9 * found[None].radius
    with pytest.raises(InvalidInput, match="must be at most sigma / 2"):
        SmoothedClassifier(middle, law, grid=Grid(5000 / 4080))


def test_inputs_that_move_far_are_noted_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    coarse = PLAN.replace(grid=Grid(0.25))
    with caplog.at_level(logging.WARNING, "dsrs"):
        certify_run(MODEL, data(), PLAN, range(4), tmp_path / "fine")
        assert not caplog.messages
        certify_run(MODEL, data(), coarse, range(4), tmp_path / "coarse")
        (note,) = caplog.messages
        assert "from the nearest point of the grid, more than a tenth of sigma = 0.5" in note
        caplog.clear()
        smoothed = SmoothedClassifier(MODEL, PLAN.law, n=200, grid=Grid(0.25))
        smoothed.certify(data().input(0))
        smoothed.certify(data().input(1))
        assert len(caplog.messages) == 1


def test_a_plan_has_the_default_grid_of_the_classifiers_bounds(tmp_path: Path) -> None:
    plan = Plan(GeneralizedGaussian(D, 0.5), ("np",), n=64, batch=16)
    certify_run(MODEL, data(), plan, [0], tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        assert run.plan.grid == GRID
        assert run.result(0).sampled.grid == GRID
        assert run.result(0).certificates["np"].grid is not None
    seen = sample_input(MODEL, data().input(0), plan, 0, 1)
    assert certificates_of(seen, plan) == certificates_of(seen, plan.replace(grid=GRID))
    with pytest.raises(InvalidInput, match="on_grid_of"):
        plan.known_grid  # noqa: B018
