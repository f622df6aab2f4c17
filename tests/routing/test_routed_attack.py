"""Attacks on routed certificates know router and experts, and find nothing inside the radius."""

from __future__ import annotations

import numpy as np
import pytest

import dsrs
from dsrs.attack import AttackSettings, attack_input
from dsrs.classifiers import Classifier
from dsrs.errors import InvalidInput
from routing import planted

BUDGET = AttackSettings(budget=40_000, seed=1)


def attacked(
    x: list[float], other: Classifier, sigmas: tuple[float, float] = (0.5, 0.5)
) -> tuple[dsrs.Certificate, float | None]:
    """The certificate of class 1 at x, and the distance of the nearest proved counterexample."""
    experts = [
        dsrs.smooth(model, sigma)
        for model, sigma in zip((planted.expert(), other), sigmas, strict=True)
    ]
    routed = dsrs.RoutedClassifier(
        dsrs.smooth(planted.router(), 0.5), experts, n=20_000, seed=0, method="np", batch=64
    )
    image = np.array(x, "f4")
    certificate = routed.certify(image, 1)
    found = attack_input(routed.classifier, image, 1, certificate, BUDGET, plan=routed.plan)
    assert found.claim == "routed"
    assert not found.refuted
    return certificate, found.attacked


def test_the_nearest_end_of_the_named_expert_is_found() -> None:
    certificate, distance = attacked([-2.0, 0.5, 0.0, 0.0], planted.expert())
    assert distance is not None
    assert certificate.radius <= 0.5 <= distance < 0.8


def test_the_end_at_the_border_of_the_router_is_found() -> None:
    # The other expert answers class 0 everywhere near: the router's border, at 0.5, is the end.
    wrong = planted.model("wrong", 1, border=3.5)
    certificate, distance = attacked([-0.5, 1.5, 0.0, 0.0], wrong)
    assert distance is not None
    assert 0.4 < certificate.radius <= 0.5 <= distance < 0.8


def test_a_budget_that_cannot_be_split_is_refused_and_the_least_is_named() -> None:
    experts = [dsrs.smooth(planted.expert(), sigma) for sigma in (0.25, 1.0)]
    router = dsrs.smooth(planted.router(), 0.5)
    routed = dsrs.RoutedClassifier(router, experts, n=1000, seed=0, method="np", batch=64)
    image, plan = np.array([-2.0, 0.6, 0.0, 0.0], "f4"), routed.plan
    known = (routed.classifier, image, 1, routed.certify(image, 1))
    # Three searches of 16 batches each have three fifths of the budget.
    least = 3 * 16 * 64 * 5 // 3
    with pytest.raises(InvalidInput, match=f"at least {least} votes for a routed model"):
        attack_input(*known, AttackSettings(budget=least - 1), plan=plan)
    assert attack_input(*known, AttackSettings(budget=least), plan=plan).votes > 0


@pytest.mark.slow
@pytest.mark.parametrize("x", [[-0.1, 0.4, 0, 0], [-0.3, 0.8, 0, 0], [0.2, 0.5, 0, 0]])
def test_no_counterexample_lies_inside_a_routed_radius(x: list[float]) -> None:
    for other in (planted.expert(), planted.unsteady(), planted.model("shifted", 1, border=-0.5)):
        certificate, distance = attacked(x, other, (0.25, 0.7))
        assert distance is None or distance >= certificate.radius
