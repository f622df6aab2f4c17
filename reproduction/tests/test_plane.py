"""Theorem 1 and its corollary in the plane, against closed forms and the package's own solver.

The (P_A, Q_A) plane of the authors' ablation, the densities and the ideal bound.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from dsrs.proofs import Interval, certify
from oracle.textbook import textbook_worst_case
from reproduction.figures_of_theory import (
    PLANE_LAW,
    SHIFT,
    ideal_curves,
    least_probability_plane,
    possible_q,
    radius_plane,
)
from reproduction.plane import (
    Region,
    check_multiclass,
    check_theorem_1,
    class_regions,
    least_margin,
    least_probability,
    linear_program_radius,
    lobes,
    multiclass_region,
    planar_cells,
    pointed_star,
    regions,
    true_margin,
)
from reproduction.theory import NESTED_LAW, certified_radius, probabilities_at

NAMES = tuple(regions())


@pytest.mark.parametrize("region", [lobes(), pointed_star()], ids=lambda region: region.name)
def test_masses_of_the_cells(region: Region) -> None:
    cells = planar_cells(region)
    assert cells.p.sum() == pytest.approx(1, abs=1e-10)
    # One integral over the angle, in closed form along the ray.
    exact, _ = integrate.quad(
        lambda a: -math.expm1(-(float(region.boundary(np.array(a))) ** 2) / 2) / (2 * math.pi),
        region.corners[0],
        region.corners[0] + 2 * math.pi,
        points=region.corners[1:],
        limit=200,
    )
    assert cells.p[cells.in_region].sum() == pytest.approx(exact, abs=1e-9)
    # Moved by r along the first axis, the plane is still the plane.
    assert cells.shifted(1.0, 0.0).sum() == pytest.approx(1, abs=1e-7)


def test_the_star_has_its_corners_where_they_should_be() -> None:
    star = pointed_star()
    radii = star.boundary(np.array(star.corners))
    np.testing.assert_allclose(radii, [2.9, 1.45] * 5, rtol=1e-9)
    assert star.inscribed_disc() == pytest.approx(1.45)
    assert star.circumscribed_disc() == pytest.approx(2.9)


@pytest.mark.parametrize("name", NAMES)
def test_theorem_1_certifies_the_true_radius(name: str) -> None:
    result = check_theorem_1(name)
    assert result.on_region == pytest.approx(result.true_radius, abs=1e-5)
    assert result.neyman_pearson < result.truncated <= result.two_discs < result.on_region
    # Closed form for the Gaussian: sigma Phi^-1(P_A).
    assert result.neyman_pearson == pytest.approx(stats.norm.ppf(result.p_a), abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_linear_program_and_the_dual_bound_give_the_same_radii(name: str) -> None:
    result = check_theorem_1(name)
    cells = planar_cells(regions()[name])
    # The cells of the plane are good to about 1e-4 of the mass.
    for support, radius in ((None, result.neyman_pearson), (cells.in_disc, result.truncated)):
        found = linear_program_radius(cells, result.worst_direction, support)
        assert found == pytest.approx(radius, abs=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_two_discs_against_the_worst_class_between_them(name: str) -> None:
    """A has the inner disc, nothing outside the outer one, and of the ring what has x < c."""
    result, region = check_theorem_1(name), regions()[name]
    inner, outer = region.inscribed_disc(), region.circumscribed_disc()
    radius = (np.arange(4000) + 0.5) * outer / 4000
    cosine = np.cos((np.arange(2000) + 0.5) * math.pi / 2000)
    mass = (radius * np.exp(-(radius**2) / 2) * outer / 4000)[:, None] / 2000
    x = radius[:, None] * cosine
    ring = np.broadcast_to(radius[:, None] > inner, x.shape)

    def left(c: float) -> float:
        return float((mass * (~ring | (x < c))).sum()) - result.p_a

    c = optimize.brentq(left, -outer, outer)
    moved = mass * np.exp(result.two_discs * x - result.two_discs**2 / 2)
    at_the_radius = float(moved[~ring | (x < c)].sum())
    # Never below 1/2, but for midpoint cells of 1/4000; a search over several laws may stop short.
    assert 0.5 - 1e-3 < at_the_radius < 0.515


@pytest.mark.parametrize("name", NAMES)
def test_theorem_1_holds_in_every_direction(name: str) -> None:
    cells = planar_cells(regions()[name])
    for direction in np.linspace(0, 2 * math.pi, 5):
        truth = float(cells.shifted(0.8, direction)[cells.in_region].sum())
        certified = least_probability(cells, 0.8, direction, cells.in_region)
        assert certified == pytest.approx(truth, abs=1e-7)


def test_the_corollary_certifies_the_true_radius_from_laws_on_the_rivals() -> None:
    result = check_multiclass()
    assert sum(result.probabilities) == pytest.approx(1, abs=1e-9)
    assert result.laws_on_the_rivals == pytest.approx(result.true_radius, abs=1e-5)
    # With a law on A itself, B and C may be one rival, as in Theorem 1; P_B tells them apart.
    assert result.laws_on_a_and_b == pytest.approx(result.theorem_1, abs=1e-5)
    assert result.laws_on_a_and_b_with_p_b == pytest.approx(result.true_radius, abs=1e-5)
    assert result.neyman_pearson < result.runner_up < result.theorem_1 < result.true_radius - 0.1


def test_the_margins_of_the_corollary_in_other_directions() -> None:
    cells = planar_cells(multiclass_region())
    for direction in (0.5, 2.0, 5.5):
        truth = true_margin(cells, 0.7, direction)
        rivals = least_margin(cells, 0.7, direction, ("B", "C"))
        assert rivals == pytest.approx(truth, abs=1e-6)
        moved = cells.shifted(0.7, direction)
        of_a = float(moved[class_regions(cells)["A"]].sum())
        on_a_and_b = least_margin(cells, 0.7, direction, ("A", "B"))
        # The rest may be all B's.
        assert on_a_and_b == pytest.approx(2 * of_a - float(moved.sum()), abs=1e-6)


def test_the_solver_certifies_the_corollary_from_votes() -> None:
    """Further than where A has half of the votes, and never beyond the truth."""
    truth = nested_truth()
    certified = certified_radius(100_000, ("A", "B"))
    assert truth - 2e-3 < certified < truth
    at_half = probabilities_at(certified)
    assert at_half["A"] < 0.45
    assert at_half["A"] > max(at_half["B"], at_half["C"])
    # Fewer votes prove less.
    assert certified_radius(1000, ("A", "B")) < certified


def nested_truth() -> float:
    def margin(radius: float) -> float:
        f = probabilities_at(radius)
        return f["A"] - max(f["B"], f["C"])

    return float(optimize.brentq(margin, 0, 5))


def test_classes_at_a_shift_against_the_plane() -> None:
    """Noncentral chi-square against noise."""
    generator = np.random.default_rng(0)
    noise = generator.standard_normal((400_000, 2)) + np.array([0.8, 0.0])
    norms = np.linalg.norm(noise, axis=1)
    disc, ring = NESTED_LAW.radial_quantile([0.55, 0.70])
    f = probabilities_at(0.8)
    assert f["A"] == pytest.approx(np.mean(norms < disc), abs=3e-3)
    assert f["C"] == pytest.approx(np.mean(norms > ring), abs=3e-3)


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
    from reproduction import figures_of_theory as drawn

    drawn.draw_planes(least_probability_plane(4, 3), radius_plane(4, 3), tmp_path / "plane.svg")
    drawn.draw_densities(tmp_path / "densities.svg")
    drawn.draw_ideal(ideal_curves()[:2], tmp_path / "ideal.svg")
    assert "certified radius" in (tmp_path / "plane.svg").read_text(encoding="utf-8")
    assert "density of the norm" in (tmp_path / "densities.svg").read_text(encoding="utf-8")
    assert "Neyman-Pearson radius" in (tmp_path / "ideal.svg").read_text(encoding="utf-8")
