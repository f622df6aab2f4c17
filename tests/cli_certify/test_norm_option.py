"""l1 and l-infinity from the command line: certify, check, recertify, export, report, attack."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import dsrs
from dsrs.cli.main import main
from dsrs.store import open_run

SIGMA = 0.5


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Images of 3 x 3 pixels of which the mean decides; class 1 below 0.6."""
    monkeypatch.chdir(tmp_path)
    Path("mean_model.py").write_text(
        "import numpy as np\n"
        "def mean(batch):\n"
        "    score = np.float32(0.6) - batch.reshape(len(batch), -1).mean(axis=1)\n"
        "    return np.stack([-score, score], axis=1)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    images = np.stack([np.full((3, 3), value, np.float32) for value in (0.0, 0.2)])
    np.savez("data.npz", images=images, labels=np.array([1, 1]))
    return tmp_path


def certify(norm: str, *words: str) -> None:
    arguments = ["certify", "--model", "mean_model:mean", "--data", "data.npz", "--sigma"]
    arguments += [str(SIGMA), "--norm", norm, "--n", "2048", "--output", "run", "--quiet", *words]
    assert main(arguments) == 0


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_a_run_goes_its_whole_way(
    folder: Path, capsys: pytest.CaptureFixture[str], norm: str
) -> None:
    certify(norm, "--q", "rescaled:0.8x")
    assert f"at {norm} radius r" in capsys.readouterr().out
    with open_run("run") as opened:
        found = {one.index: one.certificates for one in opened.results()}
    assert all(one.radius > 0 for methods in found.values() for one in methods.values())
    assert found[0]["np"].law.measured_in == norm
    assert found[0]["np"].proof.kind == "norm-dual"  # type: ignore[union-attr]

    assert main(["check", "run", "--fast"]) == 3  # it proves nothing
    assert "agrees with our floats" in capsys.readouterr().out
    assert main(["check", "run"]) == 0
    assert "4 verified, 0 refuted, 0 undecided" in capsys.readouterr().out

    assert main(["recertify", "run", "--alpha", "0.05", "--output", "again"]) == 0
    assert f"at {norm} radius r" in capsys.readouterr().out
    with open_run("again") as opened:
        assert opened.result(0).certificates["np"].radius > found[0]["np"].radius

    assert main(["export", "run", "--format", "csv"]) == 0
    assert main(["recertify", "run.csv", "--output", "radii.csv"]) == 0
    rows = list(csv.DictReader(Path("radii.csv").read_text().splitlines()))
    assert {row["norm"] for row in rows} == {norm}
    for row in rows:
        assert float(row["certified_radius"]) == float(row["radius"])
    capsys.readouterr()
    assert main(["check", "run.csv"]) == 0
    assert main(["check", "radii.csv"]) == 0
    assert "4 verified" in capsys.readouterr().out

    assert main(["report", "run", "--output", "report.html"]) == 0
    assert f"at {norm} radius r" in capsys.readouterr().out
    assert main(["attack", "run", "--trust-code", "--budget", "16384", "--quiet", "--json"]) == 0
    attacked = json.loads(capsys.readouterr().out)
    assert attacked["norm"] == norm
    true = {"linf": (0.6, 0.4), "l1": (9 * 0.6, 9 * 0.4)}[norm]
    for one, distance in zip(attacked["inputs"], true, strict=True):
        assert one["certified"] < distance < one["attacked"]


def test_a_report_names_the_norm(folder: Path) -> None:
    certify("linf")
    assert main(["report", "run", "--output", "report.html"]) == 0
    page = Path("report.html").read_text()
    assert "with an l-infinity radius of at least r" in page
    assert '"radius_label":"l-infinity radius r"' in page


def test_a_landscape_in_another_norm_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["landscape", "--model", "mean_model:mean", "--data", "data.npz", "--norm", "linf"]
    assert main([*words, "--output", "looks"]) == 2
    assert "`dsrs landscape` samples l2 noise only, got --norm linf" in capsys.readouterr().err


def test_predict_votes_under_the_noise(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["predict", "--model", "mean_model:mean", "--data", "data.npz", "--sigma", "0.5"]
    assert main([*words, "--norm", "linf", "--json"]) == 0
    assert '"label": 1' in capsys.readouterr().out


def test_runs_of_two_norms_are_not_put_together(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certify("linf")
    Path("run").rename("first")
    certify("l2", "--q", "none")
    assert main(["report", "first", "run", "--output", "report.html"]) == 2
    assert "radii in different norms (linf and l2)" in capsys.readouterr().err


def test_radius_prints_every_norm(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["radius", "--d", "784", "--k", "380", "--sigma", "0.5", "--p", "0.915897", "1"]
    assert main([*words, "--norm", "l1"]) == 0
    shown = capsys.readouterr().out
    assert "l1 noise(d=784, k=380, sigma=0.5)" in shown
    assert "0.021648      0.000773   0.606164" in shown
    assert main([*words, "--norm", "linf", "--at", "0.001"]) == 2
    assert "only for noise that is round in the l2 norm" in capsys.readouterr().err


@pytest.mark.slow
def test_l_infinity_from_end_to_end_on_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The embedded model and images: certificates hold against their attack, and check."""
    demo = Path(dsrs.__file__).parent / "demo"
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    arguments = [
        "certify",
        "--model",
        str(demo / "model.onnx"),
        "--data",
        str(demo / "images.npz"),
        "--norm",
        "linf",
    ]
    arguments += ["--sigma", "0.4", "--k", "380", "--q", "rescaled:0.8x", "--n", "4096"]
    assert main([*arguments, "--stop", "12", "--output", "run", "--quiet"]) == 0
    capsys.readouterr()
    with open_run("run") as opened:
        radii = [one.certificates["np"].radius for one in opened.results()]
    assert sum(radius > 0 for radius in radii) >= 6
    assert main(["check", "run"]) == 0
    capsys.readouterr()
    assert main(["attack", "run", "--trust-code", "--budget", "65536", "--quiet", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["refuted"] == []
    assert found["proved"] >= 2


@pytest.mark.slow
def test_l_infinity_from_end_to_end_on_mnist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Train under l-infinity noise, certify, check, export, recertify and report."""
    pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")
    data = Path(__file__).parents[2] / "data" / "mnist"
    if not data.exists():
        pytest.skip("scripts/fetch-data fetches MNIST")
    monkeypatch.chdir(tmp_path)
    law = ["--norm", "linf", "--sigma", "0.5", "--k", "380"]
    words = ["train", "--data", str(data), *law, "--architecture", "mnist-cnn", "--epochs", "1"]
    words += ["--learning-rate", "0.05", "--recipe", "gaussian", "--workers", "1"]
    assert main([*words, "--output", "model", "--quiet"]) == 0
    words = ["certify", "--model", "model", "--data", str(data), *law, "--q", "truncated:0.5"]
    words += ["--skip", "500", "--n", "2000", "--output", "run", "--quiet"]
    assert main(words) == 0
    with open_run("run") as opened:
        radii = [one.certificates["np"].radius for one in opened.results()]
    # Noise under which nine of ten images are recognised: P_A is well above 1/2 for most.
    assert len(radii) == 20
    assert sum(radius > 5e-4 for radius in radii) >= 12
    assert main(["check", "run"]) == 0
    assert main(["export", "run", "--format", "csv"]) == 0
    assert main(["recertify", "run.csv", "--output", "radii.csv"]) == 0
    rows = list(csv.DictReader(Path("radii.csv").read_text().splitlines()))
    assert [row["certified_radius"] for row in rows] == [row["radius"] for row in rows]
    assert main(["report", "run", "--output", "report.html"]) == 0
    assert "with an l-infinity radius of at least r" in Path("report.html").read_text()
