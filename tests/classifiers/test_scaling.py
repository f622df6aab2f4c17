"""Features in units of their own: what a scaled classifier, its grid and its radius mean."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.classifiers import Scaling, from_callable, scaled
from dsrs.cli.main import main
from dsrs.datasets import Dataset
from dsrs.errors import DataError, InvalidInput
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.smoothed import SmoothedClassifier

ROWS = np.array([[0.0, 1000.0, 0.25], [4.0, 3000.0, 0.75], [1.0, 2000.0, 0.5]])


def test_units_of_range_std_and_resolution() -> None:
    assert Scaling.of_data(ROWS).unit == (4.0, 2000.0, 0.5)
    assert Scaling.of_data(ROWS).bounds == (0.0, 1.0)
    np.testing.assert_allclose(Scaling.of_data(ROWS, "std").unit, ROWS.std(axis=0))
    assert Scaling.of_data(ROWS, "resolution").unit == (1.0, 1.0, 0.01)
    assert Scaling.of_data(ROWS, (1, 500, 0.1)).bounds == pytest.approx((0.0, 5.0))
    # A feature that never changes has unit 1.
    assert Scaling.of_data([[1.0, 7.0], [2.0, 7.0]]).unit == (1.0, 1.0)


def by_first_feature(batch: NDArray[np.float32]) -> NDArray[np.int64]:
    return (batch[:, 0] > 2).astype(np.int64)


def test_a_scaled_classifier_is_made_again_where_it_is_unpickled() -> None:
    model = scaled(from_callable(by_first_feature, (3,), 2), Scaling.of_data(ROWS))
    again = pickle.loads(pickle.dumps(model))
    assert again.fingerprint == model.fingerprint
    assert again.scaling == model.scaling
    assert again.classify(np.array([[0.6, 0, 0]], np.float32)).tolist() == [1]


def test_scaled_values_go_there_and_back() -> None:
    for kind in ("range", "std", "resolution"):
        scaling = Scaling.of_data(ROWS, kind, names=("a", "b", "c"))
        there = scaling.to_scaled(ROWS)
        np.testing.assert_allclose(scaling.to_own(there.astype(np.float32)), ROWS, rtol=1e-6)
        assert scaling.from_dict(scaling.to_dict()) == scaling
        lower, upper = scaling.bounds
        assert lower <= there.min()
        assert there.max() <= upper


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_at_their_resolution_lie_on_the_default_grid(dtype: type) -> None:
    values: NDArray[np.floating[Any]] = np.array(
        [[3, 17.99], [255, 0.01], [12, 1203.55]], dtype=dtype
    )
    scaling = Scaling.of_data(values, "resolution")
    assert scaling.unit == (1.0, 0.01)
    data = Dataset.from_arrays(values, bounds=(-1e9, 1e9)).scaled(scaling)
    grid = Grid.of_bounds(data.bounds, GeneralizedGaussian(2, 20.0))
    assert [grid.distance(data.input(index)) for index in range(3)] == [0.0] * 3
    # What is between two steps stays there: it has moved, and its radius is less.
    between = scaling.to_scaled(np.array([4.0, 17.994], dtype=dtype))
    assert between[1] == pytest.approx(1798.4, rel=1e-6)


def test_the_radius_of_a_half_space_is_its_distance_in_scaled_units() -> None:
    """x_1 > 2000, asked at x_1 = 2600 with unit 2000: 0.3 scaled units from the border."""
    model = from_callable(
        lambda batch: (batch[:, 1] > 2000).astype(int), (3,), 2, bounds=(0.0, 3000.0), name="half"
    )
    scaling = Scaling.of_data(ROWS)
    sigma, n, alpha = 0.25, 20_000, 0.001
    smoothed = SmoothedClassifier(
        scaled(model, scaling), GeneralizedGaussian(3, sigma), method="np", n=n, alpha=alpha, seed=0
    )
    x = scaling.to_scaled(np.array([1.0, 2600.0, 0.5])).astype(np.float32)
    certificate = smoothed.certify(x, 1)
    share = NormalDist().cdf(0.3 / sigma)
    # The lower bound is about 3.1 standard errors below what was sampled, and that is within 3.
    low = share - 6.1 * math.sqrt(share * (1 - share) / n)
    assert sigma * NormalDist().inv_cdf(low) < certificate.radius < 0.3


def test_scaling_is_part_of_the_model() -> None:
    model = from_callable(lambda batch: (batch[:, 0] > 2).astype(int), (3,), 2, name="m")
    one, other = (scaled(model, Scaling.of_data(ROWS, kind)) for kind in ("range", "std"))
    assert one.fingerprint != other.fingerprint
    assert "each feature in units of its range: feature 0 4, feature 1 2000" in one.description
    # Noise of sigma in scaled units is noise of sigma unit_j in feature j.
    noise = np.array([[0.5, 0.0, 0.0], [0.75, 0.0, 0.0]], np.float32)
    assert one.classify(noise).tolist() == [0, 1]


def test_what_is_wrong_with_a_scaling() -> None:
    scaling = Scaling.of_data(ROWS, names=("age", "income", "share"))
    with pytest.raises(DataError, match=r"feature 'income' must be in \[1000, 3000\], got 4000"):
        scaling.to_scaled([[1.0, 4000.0, 0.5]], "new.csv")
    with pytest.raises(DataError, match="expected rows of 3 features"):
        scaling.to_scaled([[1.0, 4000.0]])
    with pytest.raises(InvalidInput, match="positive unit"):
        Scaling.of_data(ROWS, (1.0, 0.0, 1.0))
    with pytest.raises(InvalidInput, match="for each feature, got 3, 3 and 2"):
        Scaling.of_data(ROWS, (1.0, 2.0))
    with pytest.raises(InvalidInput, match="too many decimals"):
        Scaling.of_data([[math.pi], [math.e]], "resolution")
    with pytest.raises(InvalidInput, match=r"needs a model of inputs of shape \(3,\)"):
        scaled(from_callable(lambda batch: batch, (2,), 2), scaling)
    with pytest.raises(InvalidInput, match="a scaling is for rows of features"):
        Dataset.from_arrays(np.zeros((2, 4, 4))).scaled(scaling)


CODE = "def model(batch): return (batch[:, 0] / 4 + batch[:, 1] / 2000 > 1).astype(int)\n"


def test_commands_certify_check_attack_and_predict_in_scaled_units(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(CODE)
    lines = [f"{a},{b},{c},{'yes' if a / 4 + b / 2000 > 1 else 'no'}" for a, b, c in ROWS]
    Path("data.csv").write_text("\n".join(["age,income,share,class", *lines]) + "\n")
    model = ["--model", "net.py:model", "--num-classes", "2", "--sigma", "0.25"]
    words = ["certify", *model, "--n", "1000", "--workers", "1", "--output", "run"]
    assert main([*words, "--data", "data.csv", "--scale", "range", "--q", "none"]) == 0
    assert "note: each feature in units of its range: age 4, income 2000" in capsys.readouterr().err
    assert main(["show", "run"]) == 0
    shown = capsys.readouterr().out
    assert "classes  0 no, 1 yes" in shown
    assert "units    sigma, grid and radii are in scaled units" in shown
    assert main(["check", "run", "--votes", "1", "--quiet"]) == 2
    assert "give it by --model" in capsys.readouterr().err
    assert main(["check", "run", "--votes", "1", "--quiet", *model[:4]]) == 0
    assert (
        main(["attack", "run", "--trust-code", "--budget", "5000", "--quiet", "--workers", "1"])
        == 0
    )
    assert main(["export", "run", "--format", "csv"]) == 0
    assert ",yes" in Path("run.csv").read_text()
    # New data is measured in the units of the run, whatever its own range is.
    Path("new.csv").write_text("age,income,share\n4,2900,0.5\n")
    capsys.readouterr()
    new = ["predict", *model, "--data", "new.csv", "--class-names", "no,yes", "--workers", "1"]
    assert main([*new, "--scale", "run"]) == 0
    assert "yes" in capsys.readouterr().out
    # Other units are another model.
    assert main([*words, "--data", "data.csv", "--scale", "std", "--q", "none"]) == 2
    assert "model.fingerprint" in capsys.readouterr().err
