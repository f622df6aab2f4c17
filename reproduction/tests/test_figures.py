"""What the figures from recorded data show, and that a missing part is said and not fatal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dsrs.errors import DataError, NotRecorded
from dsrs.laws import GeneralizedGaussian
from dsrs.reports import print_style
from reproduction.figures_of_record import model_title
from reproduction.recorded import RecordedRadii, RecordedRun, RunName
from reproduction.recorded_logs import EMPTY, read_noise_norm_logs
from reproduction.tables import RecordedAccuracy

pytest.importorskip("matplotlib")

from reproduction import figures_of_record as drawn


def run(name: RunName, radii: list[float], p_lower: float = 0.9) -> RecordedRun:
    lower = np.full(len(radii), p_lower)
    return RecordedRun(name, np.arange(len(radii)), lower, lower, np.array(radii))


def recorded(found: RecordedRun) -> np.ndarray:
    return found.recorded_radius


def votes_runs() -> list[RecordedRun]:
    law = GeneralizedGaussian(150_528, 0.5, 75260)
    double = [
        run(RunName(drawn.MODEL, law, n, 0.0005, "truncated", "x2"), [0.5, n / 1e6])
        for n in drawn.FIGURE_VOTES
    ]
    other_rule = run(RunName(drawn.MODEL, law, 50_000, 0.0005, "truncated", "0.5"), [9.0, 9.0])
    other_alpha = run(RunName(drawn.MODEL, law, 50_000, 0.0005), [9.0, 9.0])
    alone = run(RunName(drawn.MODEL, law, 100_000, 0.001), [0.2, 0.0])
    return [*double, other_rule, other_alpha, alone]


def test_curves_against_votes(tmp_path: Path) -> None:
    curves = drawn.votes_curves(votes_runs(), recorded)
    assert [(curve.double, curve.n) for curve in curves] == [
        (False, 100_000),
        *((True, n) for n in drawn.FIGURE_VOTES),
    ]
    assert curves[-1].radii.tolist() == [0.5, 0.8]
    drawn.draw_votes(curves, tmp_path / "votes.svg")
    text = (tmp_path / "votes.svg").read_text(encoding="utf-8")
    assert "double sampling" in text
    assert "800,000" in text
    with pytest.raises(DataError, match="800,000"):
        drawn.votes_curves(votes_runs()[:4], recorded)


def mnist(sigma: float, radii: list[float], q_shape: str | None = None) -> RecordedRun:
    law = GeneralizedGaussian(784, sigma, 380)
    n, alpha = (100_000, 0.001) if q_shape is None else (50_000, 0.0005)
    rule = None if q_shape is None else str(0.8 * sigma)
    return run(RunName(f"cohen-mnist-380-{sigma:.2f}", law, n, alpha, q_shape, rule), radii)


def test_accuracy_curves_take_the_best_sigma(tmp_path: Path) -> None:
    narrow, wide = mnist(0.25, [0.5, 0.5, 0.0]), mnist(1.0, [2.0, 0.0, 0.0])
    name = mnist(1.0, [], "rescaled").name
    alone = RecordedRadii(name, np.arange(3), np.array([2.5, 0.0, 0.0]))
    accuracy = RecordedAccuracy([narrow, wide], recorded, [alone], inputs=3)
    curves = drawn.accuracy_curves(accuracy)
    assert len(curves) == 18
    single, double = curves[:2]
    assert (single.sigmas, single.as_recorded) == ((0.25, 1.0), ())
    assert (double.sigmas, double.as_recorded) == ((1.0,), (1.0,))
    at = {
        radius: single.percents[np.searchsorted(drawn.CURVE_RADII, radius)]
        for radius in (0.0, 0.5, 0.505, 2.0, 2.005)
    }
    # At 0 the abstained input does not count; at its own radius an input does.
    assert {r: round(p) for r, p in at.items()} == {0.0: 67, 0.5: 67, 0.505: 33, 2.0: 33, 2.005: 0}
    drawn.draw_accuracy_curves(curves, tmp_path / "curves.svg")
    text = (tmp_path / "curves.svg").read_text(encoding="utf-8")
    assert text.count("not recorded") == 2  # panels; trainings without any run have none
    assert "as recorded" in text
    with pytest.raises(DataError, match="main table"):
        drawn.accuracy_curves(RecordedAccuracy([]))


def test_histograms_of_the_class_probability(tmp_path: Path) -> None:
    law = GeneralizedGaussian(150_528, 0.5, 75260)
    right = run(RunName("salman-imagenet-0.50", law, 100_000, 0.001), [0.0] * 3, p_lower=0.9)
    half = run(RunName("salman-imagenet-0.50", law, 50_000, 0.0005), [0.0] * 3)
    tiny = tmp_path / "sampling" / "cohen-tinyimagenet-4700-0.50.pth"
    tiny.mkdir(parents=True)
    log = "x disttype general-gaussian\nx k 4700\nx std 0.5\nx N 100000\nx alpha 0.001\n"
    log += "o 0 0.999 1\no 1 0.2 0.3\n"
    (tiny / "general-gaussian-4700-0.5-100000-0.001.txt").write_text(log)
    damaged = tiny.parent / "consistency-tinyimagenet-4700-0.50.pth"
    damaged.mkdir()
    (damaged / "general-gaussian-4700-0.5-100000-0.001.txt").write_text("o 1\n")
    bounds, broken = drawn.tinyimagenet_lower_bounds(tmp_path)
    assert [path.parent.name for path, _ in broken] == [damaged.name]
    wide = GeneralizedGaussian(150_528, 1.0, 75260)
    name = RunName("cohen-imagenet-75260-1.00", wide, 100_000, 0.001)
    bounds += drawn.imagenet_lower_bounds([right, half, run(name, [0.0], 0.8)])
    assert [(b.model, b.k, b.p_lower.tolist()) for b in bounds] == [
        ("cohen-tinyimagenet-4700-0.50", 4700, [0.999, 0.2]),
        ("cohen-imagenet-75260-1.00", 75260, [0.8]),  # without a log at sigma = 0.5
        ("salman-imagenet-0.50", 75260, [0.9, 0.9, 0.9]),
    ]
    drawn.draw_histograms(bounds, tmp_path / "p.svg")
    text = (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert "1 of 2 inputs" in text
    assert "median 0.999" in text
    assert "smoothed with" in text
    with pytest.raises(DataError, match="TinyImageNet"):
        drawn.draw_histograms([], tmp_path / "p.svg")


def spheres(inputs: int) -> str:
    return "".join(f"o {index} {norm} 1.0\n" for index in range(inputs) for norm in (0.0, 30.0))


def test_accuracy_on_spheres_is_read_from_the_log_with_most_inputs_and_votes(
    tmp_path: Path,
) -> None:
    model = tmp_path / "landscape_sampling" / "cohen-mnist-380-1.00.pth"
    model.mkdir(parents=True)
    (model / "0.0-80.0-2-100.txt").write_text(spheres(9))
    (model / "0.0-50.0-2-1000.txt").write_text("o 0 0.0 0.2\n")
    (model / "0.0-60.0-2-500.txt").write_text("o 0 0.0 1.0\no 0 30.0 0.5\no 7 0.0 0.9\n")
    gaussian = tmp_path / "landscape_sampling" / "cohen-imagenet-1.00-orig.pth"
    gaussian.mkdir()
    (gaussian / "0.0-60.0-50-1000.txt").write_text("o 500 3.0 1.0\n")
    found = read_noise_norm_logs(tmp_path)
    orig, curve = found.curves
    assert (orig.law.d, orig.law.k, orig.law.sigma) == (150_528, 0, 1)
    assert (curve.law.d, curve.law.k, curve.law.sigma) == (784, 380, 1)
    # 1000 = 2 x 500 = 1 x 1000 > 9 x 100: of the two equal ones that which reaches furthest.
    assert curve.index.tolist() == [0, 0, 7]
    assert curve.accuracy.tolist() == [1.0, 0.5, 0.9]
    assert found.unused == []
    drawn.draw_accuracy_by_norm([orig, curve], tmp_path / "norm.svg")
    assert "(2 inputs)" in (tmp_path / "norm.svg").read_text(encoding="utf-8")
    (model / "0.0-60.0-2-500.txt").write_text(spheres(30))
    assert len(np.unique(read_noise_norm_logs(tmp_path).curves[1].index)) == 30


@pytest.mark.parametrize("damage", ["o 0 0.0 1.0\no 0 30.0 1.5\n", "o 0 0.0 1.0\no 0 30", "x\nyes"])
def test_a_bad_log_costs_its_own_panel(tmp_path: Path, damage: str) -> None:
    logs = tmp_path / "landscape_sampling"
    for model in ("cohen-mnist-1.00", "cohen-cifar-0.50", "cohen-cifar-1530-0.50"):
        (logs / f"{model}.pth").mkdir(parents=True)
        (logs / f"{model}.pth" / "0.0-60.0-2-1000.txt").write_text(spheres(2))
    bad, empty = (
        logs / f"{model}.pth" / "0.0-60.0-2-1000.txt"
        for model in ("cohen-mnist-1.00", "cohen-cifar-0.50")
    )
    bad.write_text(damage)
    empty.write_text("")
    found = read_noise_norm_logs(tmp_path)
    assert [curve.model for curve in found.curves] == ["cohen-cifar-1530-0.50"]
    reasons = dict(found.unused)
    assert set(reasons) == {bad, empty}
    assert (str(bad) in reasons[bad], reasons[empty]) == (True, EMPTY)
    # Another log of the same model stands in for the bad one, which is still named.
    (bad.parent / "0.0-50.0-2-10.txt").write_text(spheres(1))
    found = read_noise_norm_logs(tmp_path)
    assert [curve.model for curve in found.curves] == ["cohen-cifar-1530-0.50", "cohen-mnist-1.00"]
    assert set(dict(found.unused)) == {bad, empty}


def test_logs_on_spheres_that_are_not_there_are_no_failure_and_bad_ones_are(tmp_path: Path) -> None:
    with pytest.raises(NotRecorded, match="landscape_sampling"):
        read_noise_norm_logs(tmp_path / "elsewhere")
    model = tmp_path / "landscape_sampling" / "cohen-mnist-1.00.pth"
    model.mkdir(parents=True)
    (model / "0.0-60.0-2-1000.txt").write_text("o 0\n")
    with pytest.raises(DataError, match=r"1000\.txt, line 1") as error:
        read_noise_norm_logs(tmp_path)
    assert not isinstance(error.value, NotRecorded)


def test_titles_are_not_wider_than_their_panels(tmp_path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    longest = "salman-tinyimagenet-75260-1.00-orig"
    figure = Figure(figsize=(2.9, 2.2), dpi=130)
    FigureCanvasAgg(figure)
    with print_style():
        title = figure.subplots().set_title(model_title(longest), fontsize=7)
    figure.draw_without_rendering()
    assert title.get_window_extent().width < 2.9 * 130


def test_titles_are_for_people() -> None:
    assert model_title("cohen-mnist-380-1.00") == (
        "MNIST, Gaussian augmentation\n$k$ = 380, $\\sigma$ = 1.00"
    )
    assert model_title("salman-imagenet-0.50") == (
        "ImageNet, SmoothAdv (Salman et al.)\n$\\sigma$ = 0.50"
    )
    assert model_title("macer-svhn-0.25") == "macer\nsvhn, $\\sigma$ = 0.25"
