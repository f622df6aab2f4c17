"""A linear classifier: its nearest counterexample is at its margin, for every isotropic law."""

from __future__ import annotations

import numpy as np
import pytest

from dsrs import SmoothedClassifier
from dsrs.attack import AttackSettings, attack_input
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.methods import Plan
from dsrs.proofs import AttackedInput, Certificate, Dual, Interval
from known_classifiers import Linear

SIGMA, D = 0.5, 48


def attacked(law: GeneralizedGaussian, margin: float, **settings: object) -> AttackedInput:
    certificate = Certificate(law, "certified", 0.01, 0.01, Dual(Interval(0.6, 1)))
    zero, chosen = np.zeros(D, np.float32), AttackSettings(**settings)  # type: ignore[arg-type]
    return attack_input(Linear(D, margin), zero, 1, certificate, chosen)


@pytest.mark.parametrize(("margin", "budget"), [(1.0, 200_000), (1.5, 100_000), (3.0, 75_000)])
def test_a_linear_classifier_is_attacked_within_three_percent(margin: float, budget: int) -> None:
    """Margins in units of sigma. The proof costs about 10 / sqrt(votes) of sigma at any margin."""
    found = attacked(GeneralizedGaussian(D, SIGMA), margin * SIGMA, budget=budget, seed=3)
    assert found.attacked is not None
    assert 1 < found.attacked / (margin * SIGMA) < 1.03
    assert found.counterexample is not None
    assert found.counterexample.rival == 0
    assert found.votes <= budget


@pytest.mark.parametrize(
    ("k", "eta"),
    [(20.0, 2.0), (0.0, 1.0), (12.0, 4.0), (23.7, 2.0)],
    ids=["m = 4", "exponential tails", "short tails", "m = 0.3, scores of infinite variance"],
)
def test_every_isotropic_law_can_be_attacked(k: float, eta: float) -> None:
    """All these laws are symmetric, so the majority ends at the margin under each of them."""
    found = attacked(GeneralizedGaussian(D, SIGMA, k, eta), SIGMA, budget=75_000)
    assert found.attacked is not None
    assert 1 < found.attacked / SIGMA < 1.15


def test_the_attack_depends_on_the_seed_alone() -> None:
    law = GeneralizedGaussian(D, SIGMA)
    first, again, other = (attacked(law, SIGMA, budget=8192, seed=seed) for seed in (0, 0, 1))
    assert first.candidates == again.candidates
    assert first.candidates != other.candidates
    assert first.perturbation is not None
    assert again.perturbation is not None
    assert np.array_equal(first.perturbation, again.perturbation)


def test_a_class_that_loses_votes_under_wider_noise_only_is_attacked() -> None:
    """At 6 sigma one vote in 10^9 is against the class: a small budget must not end there."""
    found = attacked(GeneralizedGaussian(D, SIGMA), 6 * SIGMA, budget=8192)
    assert found.attacked is not None
    assert 1 < found.attacked / (6 * SIGMA) < 1.15


def test_a_class_that_never_loses_a_vote_is_not_refuted() -> None:
    found = attacked(GeneralizedGaussian(D, SIGMA), 100 * SIGMA, budget=8192)
    assert (found.attacked, found.ratio, found.candidates) == (None, None, ())
    assert 0 < found.votes <= 8192


def test_without_a_plan_the_certificate_tells_the_grid() -> None:
    """The grid belongs to the smoothed classifier: its noise is not that of float32."""
    law, grid, x = GeneralizedGaussian(D, SIGMA), Grid(1 / 4080, -1.0), np.zeros(D, np.float32)
    model, settings = Linear(D, 0.3, bounds=(-1.0, 1.0)), AttackSettings(budget=20_000)
    smoothed = SmoothedClassifier(model, law, n=2000, method="np", seed=0, grid=grid)
    certificate = smoothed.certify(x, 1)

    def votes(grid: Grid | None) -> list[tuple[int, ...]]:
        plan = Plan(law, ("np",), grid=grid)
        found = attack_input(model, x, 1, certificate, settings, plan=plan)
        return [candidate.counts for candidate in found.candidates]

    alone = attack_input(model, x, 1, certificate, settings)
    assert [candidate.counts for candidate in alone.candidates] == votes(grid) != votes(None)
