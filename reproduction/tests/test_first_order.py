"""Certificates from a bound of the gradient, against a linear program over classifiers.

The bound of the gradient covers the truth as often as it says.

First order: sums of noise that do not depend on workers, and bounds that cover the truth.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, optimize, special, stats

from dsrs import Certificate
from dsrs.certifying import certify_run, recertify_run, sample_input
from dsrs.classifiers import Classifier, from_callable
from dsrs.datasets import Dataset
from dsrs.errors import DataError, InvalidInput, NotEnoughVotes
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.methods import METHODS, Plan, certificates_of, methods_of
from dsrs.noise import NORMAL_UNITS, NoiseStream, Stream
from dsrs.proofs import PROOF_KINDS, Dual, Step, certificate_of, check
from dsrs.store import open_run
from dsrs.votes import (
    ESTIMATION,
    Counts,
    SampledInput,
    Setting,
    VoteCollector,
    WorkUnit,
    count_votes,
)
from reproduction.first_order import (
    FIRST_ORDER,
    MissedNoise,
    Slab,
    find_slab,
    first_order_bound,
    gradient_bound,
    held_by,
    log_moment,
    mean_deviation,
    register,
)

LAW = GeneralizedGaussian(784, 0.5)


@pytest.fixture(scope="module", autouse=True)
def known() -> Iterator[None]:
    """The method is registered for these tests alone."""
    register()
    yield
    del METHODS[FIRST_ORDER], PROOF_KINDS[Slab.kind]


def first_order(law: GeneralizedGaussian, p_lower: float, gradient: float) -> Certificate:
    return certificate_of(law, find_slab(law, p_lower, gradient))


def half_space_gradient(p: float) -> float:
    return float(stats.norm.pdf(special.ndtri(p)))


def least_probability(p: float, gradient: float, rho: float) -> float:
    """The linear program over classifiers that are constant on thin slabs."""
    edges = np.concatenate([[-np.inf], np.linspace(-8, 8, 4001), [np.inf]])
    mass = np.diff(stats.norm.cdf(edges))
    first = -np.diff(stats.norm.pdf(edges))  # integral of w over each slab
    shifted = np.diff(stats.norm.cdf(edges - rho))
    found = optimize.linprog(
        shifted, A_ub=np.array([-mass, -first]), b_ub=[-p, gradient], bounds=(0, 1), method="highs"
    )
    return float(found.fun)


@pytest.mark.parametrize("p", [0.6, 0.9, 0.99])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_the_radius_is_where_the_worst_classifier_falls_to_one_half(p: float, share: float) -> None:
    found = first_order(LAW, p, share * half_space_gradient(p))
    rho = found.radius / LAW.sigma
    # Slabs of 0.004 leave about their square.
    assert least_probability(p, share * half_space_gradient(p), rho) == pytest.approx(0.5, abs=1e-5)
    assert isinstance(found.proof, Slab)
    assert found.np_radius is not None
    assert found.radius > found.np_radius
    assert check(found)
    assert Certificate.from_json(found.to_json()) == found


def test_the_gradient_of_a_half_space_gains_nothing() -> None:
    for p in (0.6, 0.95):
        found = first_order(LAW, p, half_space_gradient(p))
        assert isinstance(found.proof, Dual)
        assert found.radius == pytest.approx(LAW.sigma * special.ndtri(p), rel=1e-12)
        assert check(found)


def test_a_smaller_gradient_never_gives_a_smaller_radius() -> None:
    radii = [
        first_order(LAW, 0.8, share * half_space_gradient(0.8)).radius
        for share in (1.2, 0.99, 0.7, 0.3, 0.0)
    ]
    assert radii == sorted(radii)
    assert radii[-1] == pytest.approx(LAW.sigma * _symmetric_reach(0.8), abs=1e-9)


def _symmetric_reach(p: float) -> float:
    """Without a gradient the slab is symmetric."""
    b = float(special.ndtri((1 + p) / 2))
    return float(optimize.brentq(lambda r: special.ndtr(b - r) - special.ndtr(-b - r) - 0.5, 0, b))


def test_no_multipliers_prove_more_than_the_worst_classifier() -> None:
    generator = np.random.default_rng(1)
    for _ in range(60):
        p = float(generator.uniform(0.51, 0.999))
        gradient = float(generator.uniform(0, 1)) * half_space_gradient(p)
        rho = float(generator.uniform(0.05, 3))
        level, slope = (float(value) for value in generator.exponential(2, 2))
        assert first_order_bound(p, gradient, (level, slope), rho) <= (
            least_probability(p, gradient, rho) + 1e-5
        )


def test_forged_proofs_are_refused() -> None:
    found = first_order(LAW, 0.9, 0.8 * half_space_gradient(0.9))
    proof = found.proof
    assert isinstance(proof, Slab)

    def forged(radius: float = found.radius, **change: Any) -> Certificate:
        return dataclasses.replace(found, radius=radius, proof=dataclasses.replace(proof, **change))

    def step(**change: Any) -> dict[str, Any]:
        return {"step": dataclasses.replace(proof.step, **change)}

    assert check(forged())
    assert not check(forged(found.radius * (1 + 1e-9)))
    assert not check(forged(gradient=-1.0))
    assert not check(forged(gradient=proof.gradient * 1.001))
    assert not check(forged(p_lower=0.5))
    assert not check(forged(p_lower=1.5))
    assert not check(dataclasses.replace(found, law=GeneralizedGaussian(784, 0.5, 10)))
    assert not check(forged(**step(multipliers=(1.0,))))
    assert not check(forged(**step(dual_bound=0.51)))
    assert not check(forged(found.radius * 1.001, **step(radius=found.radius * 1.001)))


def test_useless_multipliers_prove_nothing() -> None:
    for multipliers in ((0.0, 1.0), (1.0, 0.0), (math.inf, 1.0), (1e-9, 1.0)):
        assert first_order_bound(0.9, 0.1, multipliers, 1.0) < 0.5


def test_other_noise_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Gaussian"):
        first_order(GeneralizedGaussian(784, 0.5, 380), 0.9, 0.1)


@pytest.mark.parametrize("miss", [1e-8, 1e-9, 1e-10])
def test_a_class_that_hardly_ever_misses_still_gains(miss: float) -> None:
    found = first_order(LAW, 1 - miss, 0.0)
    # The slab of no gradient is symmetric.
    assert found.radius == pytest.approx(-LAW.sigma * special.ndtri(miss / 2), abs=1e-4)
    assert found.np_radius is not None
    assert found.radius > found.np_radius
    assert check(found)


@pytest.mark.parametrize(
    ("radius", "multipliers"),
    [
        (1e3, (1.0, 1e-320)),  # the line is 0 at minus infinity
        (1e200, (1.0, 1e-3)),  # the square of the shift is infinite
        (1e6, (1.0, 1e-320)),  # their ratio is 0
        (0.5, (1e306, 1e306)),  # the line is infinite
    ],
)
def test_numbers_that_overflow_prove_nothing(
    radius: float, multipliers: tuple[float, float]
) -> None:
    found = first_order(LAW, 0.9, 0.05)
    proof = dataclasses.replace(found.proof, step=Step(radius, multipliers, 0.6))  # type: ignore
    assert not check(dataclasses.replace(found, radius=max(radius, found.radius), proof=proof))
    assert first_order_bound(0.9, 0.05, multipliers, radius / LAW.sigma) == -math.inf


@pytest.mark.parametrize("q", [0.5, 0.1, 0.003])
@pytest.mark.parametrize("s", [0.01, 0.3, 2.0])
def test_no_event_of_this_rate_has_a_larger_moment(q: float, s: float) -> None:
    """Against the worst event itself, found on a fine grid by sorting."""
    v = stats.norm.ppf((np.arange(2_000_000) + 0.5) / 2_000_000)
    psi = np.expm1(s * v) - s * v
    worst = np.sort(psi)[-int(q * len(v)) :].sum() / len(v)
    # The grid cuts the far tails; the threshold is the best one for small s only.
    assert worst * (1 - 1e-4) <= log_moment(s, q) <= worst * (1.0005 if s < 0.1 else 1.02)


def test_the_whole_line_has_the_moment_of_a_normal() -> None:
    assert log_moment(0.5, 1.0) == pytest.approx(math.expm1(0.125), rel=1e-9)


def test_deviations_shrink_with_votes_and_grow_with_misses_and_confidence() -> None:
    assert mean_deviation(10_000, 0.1, 0.01) > mean_deviation(40_000, 0.1, 0.01) * 1.9
    assert mean_deviation(10_000, 0.1, 0.01) > mean_deviation(10_000, 0.05, 0.01)
    assert mean_deviation(10_000, 0.1, 0.001) > mean_deviation(10_000, 0.1, 0.01)
    assert mean_deviation(10_000, 0.0, 0.001) == 0
    for wrong in ((0, 0.1, 0.1), (10, -0.1, 0.1), (10, 0.1, 0.0)):
        with pytest.raises(InvalidInput):
            mean_deviation(*wrong)


def _misses(kind: str, z: np.ndarray, q: float) -> np.ndarray:
    """Where a classifier with miss rate q misses, for noise z of shape (..., d)."""
    if kind == "half space":
        return np.asarray(z[..., 0] > stats.norm.isf(q))
    if kind == "slab":
        return np.asarray(np.abs(z[..., 0]) > stats.norm.isf(q / 2))
    if kind == "lopsided slab":
        right, left = stats.norm.isf(0.8 * q), stats.norm.ppf(0.2 * q)
        return np.asarray((z[..., 0] > right) | (z[..., 0] < left))
    raise ValueError(kind)


def _true_gradient(kind: str, q: float) -> float:
    density = {
        "half space": stats.norm.pdf(stats.norm.isf(q)),
        "slab": 0.0,
        "lopsided slab": stats.norm.pdf(stats.norm.isf(0.8 * q))
        - stats.norm.pdf(stats.norm.isf(0.2 * q)),
    }
    return float(density[kind])


def _coverage(kind: str, q: float, runs: int, alpha: float, votes: int, d: int) -> float:
    """How often the bound falls below the truth."""
    generator, truth, missed = np.random.default_rng(7), _true_gradient(kind, q), 0
    for _ in range(runs):
        z = generator.standard_normal((2, votes, d))
        halves = -(_misses(kind, z, q)[..., None] * z).mean(axis=1)
        bound = gradient_bound(
            float(np.linalg.norm(halves[0])),
            float(halves[0] @ halves[1]),
            (votes, votes),
            q,
            alpha,
        )
        missed += bound < truth
    return missed / runs


@pytest.mark.parametrize("kind", ["half space", "slab", "lopsided slab"])
def test_the_bound_misses_at_most_alpha_often(kind: str) -> None:
    alpha, runs = 0.3, 1000
    missed = _coverage(kind, 0.2, runs, alpha, votes=100, d=3)
    assert missed <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)


@pytest.mark.slow
@pytest.mark.parametrize("q", [0.4, 0.05])
@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.parametrize("kind", ["half space", "slab", "lopsided slab"])
def test_the_bound_misses_at_most_alpha_often_in_20_000_runs(kind: str, q: float, d: int) -> None:
    alpha, runs = 0.3, 20_000
    missed = _coverage(kind, q, runs, alpha, votes=100, d=d)
    assert missed <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)


def test_the_bound_comes_near_the_truth() -> None:
    """With a million votes a half the bound of a half space is some percent above it."""
    q, votes = 0.1, 1_000_000
    truth = _true_gradient("half space", q)
    bound = gradient_bound(truth, truth * truth, (votes, votes), q, 0.001)
    assert truth < bound < 1.03 * truth


def test_the_deviation_is_no_looser_than_the_worst_variance_asks() -> None:
    """For many votes it is that of a normal whose variance is the worst of all events."""
    q, votes, alpha = 0.1, 10**8, 1e-3
    z = stats.norm.isf(q / 2)
    worst = 2 * integrate.quad(lambda v: v * v * stats.norm.pdf(v), z, np.inf)[0]
    normal = math.sqrt(2 * worst * -math.log(alpha) / votes)
    assert normal < mean_deviation(votes, q, alpha) < 1.01 * normal


D = 12
SMALL = GeneralizedGaussian(D, 0.5)
GRID = Grid(1 / 4080)
PLAN = Plan(SMALL, ("np", "first-order"), n=4000, batch=64, grid=GRID)
X = np.full(D, 0.5, np.float32)


def slab(below: float, above: float) -> Classifier:
    """Class 1 where the mean of the coordinates lies between two numbers."""

    def scores(rows: NDArray[np.float32]) -> NDArray[np.float64]:
        mean = rows.reshape(len(rows), -1).mean(axis=1, dtype=np.float64)
        inside = ((mean > below) & (mean < above)).astype(float)
        return np.stack([0.5 - inside, inside - 0.5], axis=1)

    return from_callable(scores, (D,), 2)


# The mean has the deviation sigma / sqrt(d) about 0.5.
UNIT = SMALL.sigma / math.sqrt(D)
LINEAR = slab(-math.inf, 0.5 + 1.2 * UNIT)
SLAB = slab(0.5 - 2 * UNIT, 0.5 + 1.2 * UNIT)


STREAM = Stream(ESTIMATION, SMALL)


@pytest.mark.parametrize("workers", [1, 3])
def test_the_sums_are_those_of_the_noise_of_the_misses(workers: int) -> None:
    unit = WorkUnit(5, STREAM, 100, 1500, (MissedNoise(1, 2000, D),))
    with VoteCollector(workers) as collector:
        counts = collector.collect(LINEAR, X, Setting(3, 64, GRID), unit)
    (tally,) = counts.tallies
    assert isinstance(tally, MissedNoise)
    # The noise itself, on a grid so fine that it is hardly rounded.
    stream = NoiseStream(STREAM, 3, 5, Grid(2.0**-38))
    noise, norms = np.empty((1536, D), np.float32), np.empty(1536)
    stream.add_to(np.zeros(D, np.float32), 0, noise, norms)
    on_grid = np.empty((1536, D), np.float32)
    NoiseStream(STREAM, 3, 5, GRID).add_to(X, 0, on_grid, norms)
    missed = LINEAR.classify(on_grid) != 1
    assert missed[100:1500].sum() == counts.votes[0].sum() > 100
    for half, samples in enumerate((slice(100, 1000), slice(1000, 1500))):
        expected = (noise[samples][missed[samples]].astype(np.float64) / SMALL.sigma).sum(axis=0)
        np.testing.assert_allclose(tally.sums[half] / NORMAL_UNITS, expected, atol=2e-5)


def test_the_tally_does_not_depend_on_division_order_or_what_comes_after() -> None:
    generator = np.random.default_rng(1)
    asked, setting = MissedNoise(1, 1501, D), Setting(3, 64, GRID)

    def counted(first: int, stop: int) -> Counts:
        return count_votes(SLAB, X, setting, WorkUnit(5, STREAM, first, stop, (asked,)))

    whole = counted(0, 1501)
    (tally,) = whole.tallies
    assert tally.summary() is not None
    for _ in range(5):
        cuts = np.sort(generator.choice(np.arange(1, 1600), 6, replace=False))
        parts = [counted(int(a), int(b)) for a, b in itertools.pairwise([0, *cuts, 1600])]
        total = Counts.zero(2, (asked,))
        assert total.tallies[0].summary() is None
        for place in generator.permutation(len(parts)):
            total.merge(parts[place])
        # Votes from 1501 on are counted, and are no part of the sum.
        assert total.votes.sum() == 1600
        assert total.tallies[0].summary() == tally.summary()


def test_the_slope_is_what_it_was_to_the_last_bit() -> None:
    """Recorded before tallies were types; whole numbers on a grid are the same everywhere."""

    def scores(rows: NDArray[np.float32]) -> NDArray[np.float64]:
        inside = (rows.mean(axis=1, dtype=np.float64) < 0.6).astype(float)
        return np.stack([0.5 - inside, inside - 0.5], axis=1)

    law = GeneralizedGaussian(32, 0.5)
    plan = PLAN.replace(law=law, n=1501, seed=3, grid=Grid(1 / 256))
    model = from_callable(scores, (32,), 2)
    votes = sample_input(model, np.full(32, 0.5, np.float32), plan, 5, 1).votes
    assert sum(part.counts[0] for part in votes) == 111 + 93
    assert votes[-1].tallies == {
        "missed-noise": {
            "split": 750,
            "first_norm": 0.25861528159882774,
            "product": 0.050241262366476865,
        }
    }


def test_the_same_votes_serve_neyman_pearson() -> None:
    seen = sample_input(LINEAR, X, PLAN, 0, 1)
    alone = sample_input(LINEAR, X, PLAN.replace(methods=("np",)), 0, 1)
    assert seen.taken(STREAM) == 4000
    assert seen.first(STREAM, 4000).counts == alone.first(STREAM, 4000).counts
    with pytest.raises(NotEnoughVotes, match="not added up"):
        certificates_of(alone, PLAN)


def test_a_slab_gains_and_a_half_space_does_not() -> None:
    plan = PLAN.replace(n=200_000, alpha=0.01)
    for classifier, gains in ((LINEAR, False), (SLAB, True)):
        found = certificates_of(sample_input(classifier, X, plan, 0, 1), plan)
        assert check(found["first-order"])
        assert (found["first-order"].radius > 1.01 * found["np"].radius) == gains
        assert found["first-order"].radius < 1.2 * UNIT * math.sqrt(D)


def test_a_run_keeps_what_the_certificate_needs(tmp_path: Path) -> None:
    data = Dataset.from_arrays(np.stack([X, X * np.float32(0.5)]), np.array([1, 1]))
    certify_run(SLAB, data, PLAN, range(2), tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        made = list(run.results())
    assert check(made[0].certificates["first-order"])
    recertify_run(tmp_path / "run", output=tmp_path / "again")
    with open_run(tmp_path / "again") as run:
        assert [one.certificates for one in run.results()] == [one.certificates for one in made]


def test_votes_keep_their_slope_in_json() -> None:
    seen = sample_input(LINEAR, X, PLAN, 0, 1)
    fields = json.loads(json.dumps(seen.to_dict()))
    assert SampledInput.from_dict(fields, SMALL) == seen
    slope = fields["votes"][-1]["tallies"]["missed-noise"]
    assert slope["split"] == 2000
    slope["first_norm"] = -1.0
    with pytest.raises(DataError, match="slope"):
        certificates_of(SampledInput.from_dict(fields, SMALL), PLAN)


def test_an_event_holds_no_more_of_a_normal() -> None:
    v = np.abs(special.ndtri((np.arange(10**6) + 0.5) / 10**6))
    for share in (1.0, 0.1, 1e-3):
        worst = np.sort(v)[-round(share * len(v)) :].sum() / len(v)
        assert worst <= held_by(share) * (1 + 1e-4) <= worst * 1.001
    assert held_by(0.0) == 0


@pytest.mark.parametrize(
    "changes",
    [{"grid": None}, {"law": GeneralizedGaussian(D, 0.5, 2)}, {"n": 1}, {"radius": 1.0}],
)
def test_plans_it_cannot_serve_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        methods_of(PLAN.replace(**changes))


def _wrong(classifier: Classifier, reach: float, runs: int, alpha: float, n: int) -> float:
    """How often the certificate claims more than the true distance `reach`."""
    plan = Plan(SMALL, ("first-order",), n=n, alpha=alpha, batch=64, grid=GRID)
    wrong = 0
    with VoteCollector(1) as collector:
        for index in range(runs):
            seen = sample_input(classifier, X, plan, index, 1, collector)
            wrong += certificates_of(seen, plan)["first-order"].radius > reach
    return wrong / runs


def _true_reach(below: float, above: float) -> float:
    """Where the smoothed slab falls to one half, along the mean; in units of sigma."""
    low, high = 0.0, above
    for _ in range(100):
        rho = 0.5 * (low + high)
        inside = stats.norm.cdf(above - rho) - stats.norm.cdf(below - rho)
        low, high = (rho, high) if inside > 0.5 else (low, rho)
    return low * SMALL.sigma


@pytest.mark.slow
@pytest.mark.parametrize("classifier", ["linear", "slab"])
def test_certificates_are_wrong_at_most_alpha_often(classifier: str) -> None:
    """At an alpha so large that a quarter of it would be seen."""
    alpha, runs = 0.5, 2000
    made, below = (LINEAR, -math.inf) if classifier == "linear" else (SLAB, -2.0)
    wrong = _wrong(made, _true_reach(below, 1.2), runs, alpha, 256)
    assert wrong <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)
