"""Monte Carlo certificates against exact ones: closed form, the l2 solver, worst classifiers."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import special, stats

from dsrs.confidence import AlphaBudget
from dsrs.errors import AlphaOverspent, InvalidInput
from dsrs.laws import AdditionalLaw, Rescaled, Truncated, Weighted
from dsrs.other_norms import MonteCarloCertificate, NormLaw, SeenUnder, certify_by_monte_carlo
from dsrs.other_norms.law import Norm
from dsrs.other_norms.monte_carlo import fresh_dual_bounds
from dsrs.proofs.certification import certify
from dsrs.proofs.interval import Interval, Observation


def monte_carlo(
    law: NormLaw,
    p_lower: float,
    *additional: SeenUnder,
    seed: int = 0,
    alpha: float = 0.001,
    samples: int = 200_000,
    search_samples: int = 20_000,
) -> MonteCarloCertificate:
    return certify_by_monte_carlo(
        law,
        p_lower,
        *additional,
        budget=AlphaBudget(alpha),
        generator=np.random.default_rng(seed),
        samples=samples,
        search_samples=search_samples,
    )


@pytest.mark.parametrize("p_lower", [0.6, 0.9, 0.99])
def test_gaussian_closed_form(p_lower: float) -> None:
    exact = 0.5 * stats.norm.ppf(p_lower)
    found = monte_carlo(NormLaw("l2", 784, 0.5), p_lower)
    assert found.status == "certified"
    # 200,000 draws leave a slack of 0.003 in probability, 0.02 sigma in radius.
    assert exact - 0.02 <= found.radius <= exact
    assert found.dual_bound is not None
    assert found.dual_bound > 0.5


@pytest.mark.parametrize(("kind", "value"), [(Truncated, 0.5), (Rescaled, 0.4), (Rescaled, 0.6)])
def test_double_sampling_against_the_exact_l2_solver(kind: type, value: float) -> None:
    law = NormLaw("l2", 784, 0.5, 380)
    other: AdditionalLaw = kind(law.radial, value)
    exact = certify(law.radial, Interval(0.85, 1), Observation(other, Interval(0.98, 1)))
    found = monte_carlo(law, 0.85, SeenUnder(other, 0.98))
    assert 0.96 * exact.radius <= found.radius <= exact.radius
    if value < 0.6:
        # The additional law is what carries it beyond Neyman-Pearson.
        assert exact.np_radius is not None
        assert found.radius > 1.05 * exact.np_radius


class Plane:
    """P on the worst shift of l1 or l-infinity, by quantile nodes: shells, overlaps, LR.

    Independent of the product: straight from the densities and the geometry of the l1 shift.
    """

    def __init__(self, law: NormLaw, radius: float) -> None:
        u = (np.arange(1500) + 0.5) / 1500
        norms = law.scale * np.sqrt(2 * special.gammaincinv(law.d / 2 - law.k, u))
        share = stats.beta(1, law.d - 1).ppf((np.arange(300) + 0.5) / 300)
        first = np.concatenate([-share, share])  # the coordinate x_1 / |x|, of either sign
        n = norms[:, None]
        s = n - n * np.abs(first) + np.abs(n * first - radius)
        log_density = [-2 * law.k * np.log(x) - 0.5 * (x / law.scale) ** 2 for x in (n, s)]
        self.t = 0.5 * np.square(n / law.scale) + 0 * s
        self.ratio = np.exp(log_density[1] - log_density[0])

    def worst_classifier(self) -> tuple[np.ndarray, float]:
        """The Neyman-Pearson set with probability 1/2 after the shift, and before it."""
        order = np.argsort(self.ratio, axis=None)
        after = np.cumsum(self.ratio.ravel()[order]) / self.ratio.size
        count = int(np.searchsorted(after, 0.5))
        inside = np.zeros(self.ratio.size, dtype=bool)
        inside[order[:count]] = True
        return inside.reshape(self.ratio.shape), count / self.ratio.size


@pytest.mark.parametrize("norm", ["l1", "linf"])
@pytest.mark.parametrize(("d", "k"), [(4, 0.0), (30, 10.0)])
def test_worst_classifier_gives_the_radius(norm: Norm, d: int, k: float) -> None:
    """A classifier whose smoothed answer flips exactly at r: nothing above r may be certified."""
    law = NormLaw(norm, d, 1.0, k)
    radius = 1.2 * law.scale / math.sqrt(d)
    p_true = Plane(law, radius).worst_classifier()[1]
    found = monte_carlo(law, p_true)
    # The nodes leave an error of about 1e-3.
    assert 0.95 * radius <= found.radius <= 1.002 * radius


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_double_sampling_is_sound_for_the_worst_classifier(norm: Norm) -> None:
    """With its exact Q_A known as well, no more than r is certified, and no less than before."""
    law = NormLaw(norm, 30, 1.0, 10.0)
    radius = 1.2 * law.scale / math.sqrt(30)
    plane = Plane(law, radius)
    inside, p_true = plane.worst_classifier()
    cut = Truncated(law.radial, 0.6)
    q_true = float(inside[plane.t <= cut.tau].mean())
    found = monte_carlo(law, p_true, SeenUnder(cut, q_true))
    assert 0.95 * radius <= found.radius <= 1.002 * radius


def test_bounds_from_fresh_draws_are_wrong_less_often_than_alpha() -> None:
    """600 tests of a dual bound whose value is known; without slack half of them would lie above.

    The nodes know it to 1e-3, a tenth of the spread of 2,000 draws.
    """
    law = NormLaw("l1", 4, 1.0)
    radius = 0.6 * law.scale
    ratio = Plane(law, radius).ratio
    multiplier, p_lower, alpha, runs = 1.7, 0.8, 0.3, 600
    exact = 1 - multiplier * (1 - p_lower) - np.maximum(ratio - multiplier, 0.0).mean()
    generator = np.random.default_rng(8)
    rungs = [(radius, np.array([multiplier]))]
    errors = np.array([1 - p_lower])
    bounds = np.array(
        [fresh_dual_bounds(law, rungs, [], errors, 2_000, alpha, generator)[0] for _ in range(runs)]
    )
    assert np.mean(bounds > exact) <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)
    assert bounds.mean() == pytest.approx(exact, abs=0.03)


def test_additional_law_adds_and_norms_share_radii() -> None:
    """l1 and l-infinity have the same radii in units of s'; Q = P truncated adds to both."""
    radii = []
    for norm in ("l1", "linf"):
        law = NormLaw(norm, 784, 0.5, 380)
        alone = monte_carlo(law, 0.85)
        both = monte_carlo(law, 0.85, SeenUnder(Truncated(law.radial, 0.5), 0.98))
        assert both.radius > 1.2 * alone.radius > 0
        radii.append(both.radius / law.scale)
    assert radii[0] == pytest.approx(radii[1], rel=1e-6)


def test_sigma_scales_the_radius_and_seeds_repeat() -> None:
    small, large = (monte_carlo(NormLaw("l1", 50, sigma, 5), 0.9) for sigma in (0.25, 1.0))
    assert large.radius == pytest.approx(4 * small.radius, rel=1e-9)
    assert monte_carlo(NormLaw("l1", 50, 1.0, 5), 0.9) == large
    assert monte_carlo(NormLaw("l1", 50, 1.0, 5), 0.9, seed=1).radius != large.radius


def test_unlikely_class_abstains() -> None:
    found = monte_carlo(NormLaw("linf", 20, 1.0), 0.5)
    assert (found.status, found.radius, found.multipliers) == ("abstained", 0.0, ())
    assert found.dual_bound is None


def test_alpha_is_accounted_for() -> None:
    budget = AlphaBudget(0.001)
    budget.spend(0.0009, "P_A")
    law = NormLaw("l1", 20, 1.0)
    generator = np.random.default_rng(0)
    found = certify_by_monte_carlo(
        law, 0.9, budget=budget, generator=generator, samples=5_000, search_samples=2_000
    )
    assert budget.remaining == 0
    assert [share.purpose for share in found.shares] == [
        "P_A",
        "Monte Carlo test of the dual bound",
    ]
    assert found.shares[1].alpha == pytest.approx(0.0001, rel=1e-9)
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert record["radius"] == found.radius
    assert record["alpha"][0] == {"purpose": "P_A", "alpha": 0.0009}
    with pytest.raises(AlphaOverspent, match=r"nothing is left of alpha = 0\.001"):
        certify_by_monte_carlo(law, 0.9, budget=budget, generator=generator)


def test_what_the_proof_does_not_cover_is_refused() -> None:
    law = NormLaw("l1", 20, 1.0)
    shell = Weighted(law.radial, (1.0, 9.0), (0.0, 0.0))
    with pytest.raises(InvalidInput, match="must not increase with the norm"):
        monte_carlo(law, 0.9, SeenUnder(shell, 0.9))
    other = NormLaw("l1", 20, 2.0)
    with pytest.raises(InvalidInput, match=r"built on `law\.radial`"):
        monte_carlo(law, 0.9, SeenUnder(Truncated(other.radial, 0.5), 0.9))


@pytest.mark.parametrize(
    ("p_lower", "samples", "message"),
    [(1.5, 1000, "`p_lower`"), (math.nan, 1000, "`p_lower`"), (0.9, 10, "`samples`")],
)
def test_bad_input_is_named(p_lower: float, samples: int, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        monte_carlo(NormLaw("l1", 20, 1.0), p_lower, samples=samples)
    with pytest.raises(InvalidInput, match="`q_lower`"):
        SeenUnder(Truncated(NormLaw("l1", 20, 1.0).radial, 0.5), -0.1)
