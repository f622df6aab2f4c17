"""C_delta(P_A, Q_A) against the textbook, closed forms and the radius that follows from it."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from dsrs import Interval, Observation, certify, least_probability
from dsrs.cli.main import main
from dsrs.errors import InfeasibleBox, InvalidInput
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, Rescaled, Truncated
from oracle.textbook import textbook_box_minimum, textbook_worst_case

MNIST = GeneralizedGaussian(784, 1.0, 380)
POINTS = [
    (MNIST, "rescaled", 0.8, 0.95, 0.987, 1.5),
    (MNIST, "truncated", 0.5, 0.95, 0.996, 0.5),
    (GeneralizedGaussian(3, 0.5), "rescaled", 0.4, 0.8, 0.85, 0.5),
    (GeneralizedGaussian(150_528, 1.0, 75_260), "truncated", 0.6, 0.9, 0.95, 1.5),
    (GeneralizedGaussian(3072, 0.5, 1530), "rescaled", 0.4, 0.3, 0.2, 0.1),
]


def law_of(law: GeneralizedGaussian, shape: str, value: float) -> AdditionalLaw:
    return Rescaled(law, value) if shape == "rescaled" else Truncated(law, value)


@pytest.mark.parametrize(("law", "shape", "value", "p", "q", "radius"), POINTS)
def test_a_point_has_the_probability_of_the_textbook(
    law: GeneralizedGaussian, shape: str, value: float, p: float, q: float, radius: float
) -> None:
    seen = Observation(law_of(law, shape, value), Interval(q, q))
    found = least_probability(law, Interval(p, p), seen, radius=radius)
    exact = textbook_worst_case(law.d, law.k, law.sigma, radius, p, q, shape, value)
    # The textbook is good to 1e-9; what multipliers prove never exceeds the truth.
    assert exact - 2e-9 < found.dual_bound < exact + 1e-9
    assert (found.radius, len(found.multipliers)) == (radius, 2)


def test_a_box_has_the_probability_of_its_worst_corner() -> None:
    p, q, radius = (0.94, 0.96), (0.98, 0.99), 1.2
    seen = Observation(Rescaled(MNIST, 0.8), Interval(*q))
    found = least_probability(MNIST, Interval(*p), seen, radius=radius)
    worst = textbook_box_minimum(784, 380, 1.0, radius, *p, "rescaled", 0.8, *q)
    exact = textbook_worst_case(784, 380, 1.0, radius, *worst, "rescaled", 0.8)
    assert found.dual_bound == pytest.approx(exact, abs=1e-7)


def test_p_alone_is_a_half_space_under_gaussian_noise() -> None:
    law = GeneralizedGaussian(100, 0.5)
    for p in (0.3, 0.8, 0.999):
        found = least_probability(law, Interval(p, 1.0), radius=0.7)
        exact = float(stats.norm.cdf(stats.norm.ppf(p) - 0.7 / 0.5))
        assert exact - 1e-7 < found.dual_bound <= exact


def test_it_is_one_half_at_the_certified_radius_and_falls_with_the_shift() -> None:
    p, seen = Interval(0.95, 0.96), Observation(Truncated(MNIST, 0.5), Interval(0.995, 0.997))
    radius = certify(MNIST, p, seen).radius
    found = [
        least_probability(MNIST, p, seen, radius=scale * radius).dual_bound
        for scale in (0.01, 0.5, 1.0, 1.5, 10.0)
    ]
    assert found[2] == pytest.approx(0.5, abs=1e-6)
    assert found[2] > 0.5
    assert np.all(np.diff(found) < 0)
    assert 0 <= found[-1] < 0.01


def test_certainty_and_nothing_known_are_the_two_ends() -> None:
    assert least_probability(MNIST, Interval(1.0, 1.0), radius=9.0).dual_bound == 1.0
    nothing = least_probability(MNIST, Interval(0.0, 1.0), radius=0.1)
    assert (nothing.dual_bound, nothing.multipliers) == (0.0, (0.0,))


def test_what_no_classifier_has_and_no_shift_are_refused() -> None:
    seen = Observation(Truncated(MNIST, 0.5), Interval(0.1, 0.1))
    with pytest.raises(InfeasibleBox):
        least_probability(MNIST, Interval(0.9, 0.9), seen, radius=0.5)
    for radius in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InvalidInput, match="`radius`"):
            least_probability(MNIST, Interval(0.9, 0.9), radius=radius)


def test_the_command_prints_it_at_a_radius(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["radius", "--d", "784", "--k", "380", "--sigma", "1", "--p", "0.95", "0.96"]
    words += ["--q", "truncated:0.5", "--q-interval", "0.995", "0.997", "--at", "1.5"]
    assert main([*words, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    p, seen = Interval(0.95, 0.96), Observation(Truncated(MNIST, 0.5), Interval(0.995, 0.997))
    step = least_probability(MNIST, p, seen, radius=1.5)
    assert shown == {
        "radius": 1.5,
        "least_probability": step.dual_bound,
        "multipliers": list(step.multipliers),
    }
    assert main(words) == 0
    text = capsys.readouterr().out
    assert (
        f"at shift 1.5 the class has a probability of at least {step.dual_bound:.4f}"[:-1] in text
    )
    assert "lambda_q = " in text
