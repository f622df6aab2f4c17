"""How often certificates in l1 and l-infinity are wrong, on classifiers whose true radius is known.

Under independent Laplace noise the worst classifier for l1 shifts is a half-space x_1 < margin: the
certificate of its exact P_A = 1 - exp(-margin / b) / 2 is the margin itself. So a certificate is
wrong if and only if the lower bound of P_A is: alpha is used up, and any loss would show.

In two dimensions |x|_inf = |u| + |v| with u = (x_1 + x_2) / 2 and v = (x_1 - x_2) / 2, so that
l-infinity noise with eta = 1 has Laplace numbers u and v, and the same holds for u < margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dsrs import SmoothedClassifier
from dsrs.classifiers import from_callable
from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian, L1Law, LinfLaw
from dsrs.methods import Plan, methods_of
from dsrs.proofs.certificate import Certificate
from dsrs.proofs.checking import find_flaw

MARGIN, ALPHA, RUNS = 0.5, 0.2, 300


@dataclass(frozen=True)
class Case:
    law: GeneralizedGaussian
    margin: float = MARGIN

    def classify(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        value = batch[:, 0] if self.law.measured_in == "l1" else batch.mean(axis=1)
        score = np.float32(self.margin) - value
        return np.stack([-score, score], axis=1)

    def certificates(self, method: str, runs: int, n: int = 256) -> list[Certificate]:
        model = from_callable(self.classify, (self.law.d,))
        zero = np.zeros(self.law.d, np.float32)
        return [
            SmoothedClassifier(
                model, self.law, n=n, alpha=ALPHA, method=method, seed=seed, batch=256
            ).certify(zero, 1)
            for seed in range(runs)
        ]


CASES = [Case(L1Law(5, 0.5, 0.0, 1.0)), Case(LinfLaw(2, 0.5, 0.0, 1.0))]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.law.kind)
def test_neyman_pearson_is_wrong_as_often_as_alpha_says(case: Case) -> None:
    """Clopper-Pearson at alpha = 0.2 with 256 votes: nearly all of alpha is used."""
    radii = np.array([one.radius for one in case.certificates("np", RUNS)])
    wrong = int((radii > MARGIN).sum())
    assert wrong <= stats.binom.ppf(1 - 1e-4, RUNS, ALPHA)
    assert wrong >= stats.binom.ppf(1e-4, RUNS, 0.6 * ALPHA)
    assert np.median(radii) == pytest.approx(MARGIN, rel=0.35)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.law.kind)
def test_double_sampling_is_wrong_no_more_often(case: Case) -> None:
    found = case.certificates("rescaled:0.7x", 40, n=512)
    assert sum(one.radius > MARGIN for one in found) <= stats.binom.ppf(1 - 1e-4, 40, ALPHA)
    assert all(find_flaw(one) is None for one in found[:3])
    assert max(one.radius for one in found) > 0.5 * MARGIN


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ("np", "tailored")}, "the method tailored is not known for l1 noise"),
        ({"methods": ("np",), "classes": "all"}, "`classes` = all is not known for l1 noise"),
        ({"methods": ("np", "weighted:1:0,9:20")}, "must not increase with the norm"),
    ],
)
def test_what_is_not_known_of_other_norms_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        methods_of(Plan(L1Law(5, 0.5), **changes))


def test_a_goal_is_decided_with_fewer_votes() -> None:
    """Bounds at looks hold together, whatever the norm."""
    case = Case(L1Law(5, 0.5, 0.0, 1.0), margin=2.0)
    model, zero = from_callable(case.classify, (5,)), np.zeros(5, np.float32)
    smoothed = SmoothedClassifier(model, case.law, n=8192, method="np", seed=0, radius=0.3)
    found = smoothed.certify(zero, 1)
    assert (found.status, found.radius >= 0.3) == ("certified", True)
    assert smoothed.predict(zero).label == 1
