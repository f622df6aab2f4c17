"""The (P_A, Q_A) plane of the authors' ablation, the densities and the ideal bound."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dsrs.paper.probability_plane import (
    PLANE_LAW,
    SHIFT,
    ideal_curves,
    least_probability_plane,
    possible_q,
    radius_plane,
)
from dsrs.proofs.certification import certify
from dsrs.proofs.interval import Interval
from oracle.textbook import textbook_worst_case


def test_possible_q_are_those_of_balls_and_their_outsides() -> None:
    for p in (0.2, 0.7):
        inside = stats.chi(3).cdf(stats.chi(3).ppf(p) * 0.5 / 0.4)
        outside = stats.chi(3).sf(stats.chi(3).isf(p) * 0.5 / 0.4)
        assert possible_q(p) == pytest.approx((outside, inside), rel=1e-9)


def test_the_planes_agree_with_the_textbook_and_with_p_alone() -> None:
    least, radii = least_probability_plane(3, 3), radius_plane(3, 3)
    # The middle Q_A of each P_A: at the ends the textbook has no room.
    for p, q, value in zip(least.p[:, 1], least.q[:, 1], least.value[:, 1], strict=True):
        exact = textbook_worst_case(3, 0, 0.5, SHIFT, p, q, "rescaled", 0.4)
        assert value == pytest.approx(exact, abs=1e-6)
    # Nothing proves less than P_A alone, and the ends of Q_A prove more.
    for column in range(3):
        alone = certify(PLANE_LAW, Interval(float(radii.p[column, 0]), 1.0)).radius
        assert np.all(radii.value[column] >= alone - 1e-6)
        assert radii.value[column][[0, 2]].min() > alone + 1e-3


def test_the_ideal_bound_is_above_neyman_pearson_and_grows_with_the_dimension() -> None:
    curves = ideal_curves()
    for curve in curves:
        assert np.all(curve.ideal > curve.neyman_pearson)
    for before, after in itertools.pairwise(curves):
        assert np.all(after.ideal > before.ideal)
    # d = 10, m = 5 is Gaussian noise, where P_A alone proves its normal quantile.
    masses = np.linspace(0.52, 0.995, 24)
    np.testing.assert_allclose(curves[0].neyman_pearson, stats.norm.ppf(masses), rtol=1e-9)


def test_the_figures_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from dsrs.paper.figures import ablation

    ablation.draw_planes(least_probability_plane(4, 3), radius_plane(4, 3), tmp_path / "plane.svg")
    ablation.draw_densities(tmp_path / "densities.svg")
    ablation.draw_ideal(ideal_curves()[:2], tmp_path / "ideal.svg")
    assert "certified radius" in (tmp_path / "plane.svg").read_text(encoding="utf-8")
    assert "density of the norm" in (tmp_path / "densities.svg").read_text(encoding="utf-8")
    assert "Neyman-Pearson radius" in (tmp_path / "ideal.svg").read_text(encoding="utf-8")
