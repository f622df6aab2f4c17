"""The tables against independent integrals, closed forms and certificates."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from dsrs.landscape import CAP_REACH, cosine_of_score, neyman_pearson_radius, shells_of
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs import Interval, certify

LAWS = [
    GeneralizedGaussian(784, 1.0),
    GeneralizedGaussian(784, 0.5, 380),
    GeneralizedGaussian(150_528, 1.0, 75_260),
    GeneralizedGaussian(3072, 1.0, 1000, 1.0),
]


@pytest.mark.parametrize("d", [2, 3, 64, 784, 150_528])
def test_cosines_are_quantiles_of_the_beta_law(d: int) -> None:
    scores = np.array([-3.0, -2.0, -0.3, 0.0, 1.0, 3.0, 6.0])
    shape = (d - 1) / 2
    c = cosine_of_score(d, scores)
    # 1 + c cancels for d = 2, where the law of c is flat at -1; elsewhere this is to rounding.
    below = stats.beta.cdf((1 + c) / 2, shape, shape)
    assert below == pytest.approx(special.ndtr(scores), rel=1e-7)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
def test_mass_carried_into_caps(law: GeneralizedGaussian) -> None:
    """G of one shell by SciPy's quad over the cosine, densities from the law's definition."""
    shells = shells_of(law)
    place, shell, score = 45, 33, 1.37
    shift, norm = shells.shifts[place], shells.norms[shell]
    unit = GeneralizedGaussian(law.d, 1.0, law.k, law.eta)

    def log_p(x: float) -> float:
        return -2 * law.k * math.log(x) - float(unit.shell(x))

    def carried(c: float) -> float:
        moved = np.sqrt(norm**2 + shift**2 - 2 * norm * shift * c)
        density = 0.5 * (law.d - 3) * np.log1p(-c * c) - special.betaln(0.5, 0.5 * (law.d - 1))
        return float(np.exp(log_p(moved) - log_p(norm) + density))

    top = float(cosine_of_score(law.d, np.array(score)))
    points = np.linspace(-12 / np.sqrt(law.d), top, 9)
    expected = sum(integrate.quad(carried, a, b)[0] for a, b in itertools.pairwise(points))
    scores = np.full(len(shells.t), -CAP_REACH - 1)
    scores[shell] = score
    found = shells.carried_into(np.array([place]), scores[None, :])[0] / shells.mass[shell]
    assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
@pytest.mark.parametrize("p_lower", [0.51, 0.6, 0.9, 0.999, 0.999999])
def test_neyman_pearson_curve(law: GeneralizedGaussian, p_lower: float) -> None:
    exact = certify(law, Interval(p_lower, 1.0)).radius
    found = float(neyman_pearson_radius(law, np.array(1 - p_lower)))
    assert found == pytest.approx(exact, rel=1e-3)


def test_nothing_is_proved_at_one_half() -> None:
    assert neyman_pearson_radius(LAWS[0], np.array([0.5, 0.6, 1.0])) == pytest.approx(0)


def test_caps_of_a_half_space_move_with_it() -> None:
    """Right where x_1 <= D: the shifted mass is Phi(D - r) for a Gaussian, 1/2 at r = D."""
    law, distance = LAWS[0], 1.3
    shells = shells_of(law)
    cosine = distance / shells.norms
    below = 0.5 + 0.5 * np.sign(cosine) * special.betainc(0.5, 0.5 * (law.d - 1), cosine**2)
    assert shells.largest_shift(special.ndtri(below)) == pytest.approx(distance, rel=1e-4)
