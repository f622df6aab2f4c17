"""Coverage under the worst shifts that there are, over many calibration sets.

For a half-space under Gaussian noise clean coverage given the calibration set is beta, of the law
Beta(k, n + 1 - k), and coverage at a shift of length r is NP_r(beta) = Phi(Phi^-1(beta) - r/sigma):
the bound is attained, so that both sides of it are tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, special, stats

from conformal.planted import at_origin, half_space, linear
from dsrs.conformal import (
    SetPlan,
    SetPredictor,
    calibrate,
    calibration_level,
    rank_for,
    set_of,
    threshold_of,
)
from dsrs.datasets import Dataset
from dsrs.laws import GeneralizedGaussian

GAUSSIAN = GeneralizedGaussian(4, 1.0)
# Scores of clean inputs under noise and, for the same law, of inputs that were moved.
Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]


def coverages(
    clean: Draw,
    moved: Draw,
    level: float,
    *,
    inputs: int,
    repeats: int,
    calibration_draws: int = 1,
    draws: int = 1,
    confidence: float | None = None,
    tests: int = 100,
) -> NDArray[np.float64]:
    """The share of covered test points for each of many calibration sets."""
    rng = np.random.default_rng(0)
    rank = rank_for(level, inputs, calibration_draws, confidence)
    found = np.empty(repeats)
    for repeat in range(repeats):
        scores = clean(rng, (inputs, calibration_draws)).ravel()
        threshold = math.inf
        if rank <= scores.size:
            threshold = float(np.partition(scores, rank - 1)[rank - 1])
        answers = moved(rng, (tests, draws))
        found[repeat] = (2 * (answers <= threshold).sum(axis=1) > draws).mean()
    return found


def worst_half_space(ratio: float) -> tuple[Draw, Draw]:
    return (
        lambda rng, shape: rng.standard_normal(shape),
        lambda rng, shape: rng.standard_normal(shape) + ratio,
    )


def exact_coverage(rank: int, inputs: int, ratio: float) -> float:
    """E NP_r(Beta(k, n + 1 - k)) by quadrature."""
    law = stats.beta(rank, inputs + 1 - rank)
    low, high = law.ppf([1e-14, 1 - 1e-14])
    value, _ = integrate.quad(
        lambda b: special.ndtr(special.ndtri(b) - ratio) * law.pdf(b), low, high, limit=400
    )
    return float(value)


@pytest.mark.parametrize(("ratio", "said"), [(0.5, 0.9012), (1.0, 0.9027)])
def test_the_exact_coverage_of_the_worst_half_space(ratio: float, said: float) -> None:
    _, level = calibration_level(GAUSSIAN, ratio, 0.9, 1, 0.0)
    assert exact_coverage(rank_for(level, 1000, 1, None), 1000, ratio) == pytest.approx(
        said, abs=5e-5
    )


def standard_error(found: NDArray[np.float64]) -> float:
    return float(found.std(ddof=1) / math.sqrt(len(found)))


def check_half_space(ratio: float, repeats: int, inputs: int) -> None:
    _, level = calibration_level(GAUSSIAN, ratio, 0.9, 1, 0.0)
    found = coverages(*worst_half_space(ratio), level, inputs=inputs, repeats=repeats)
    exact = exact_coverage(rank_for(level, inputs, 1, None), inputs, ratio)
    assert abs(found.mean() - exact) <= 4 * standard_error(found)
    assert found.mean() >= 0.9 - 4 * standard_error(found)


@pytest.mark.parametrize("ratio", [0.5, 1.0])
def test_the_worst_half_space_attains_the_bound(ratio: float) -> None:
    check_half_space(ratio, repeats=300, inputs=1000)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [0.5, 1.0])
def test_the_worst_half_space_attains_the_bound_over_2000_calibration_sets(ratio: float) -> None:
    check_half_space(ratio, repeats=2000, inputs=1000)


def check_options(repeats: int, inputs: int, ratio: float) -> None:
    """--draws, --calibration-draws and ties never cover less; one draw's level would, averaged."""
    clean, moved = worst_half_space(ratio)
    one, majority = (calibration_level(GAUSSIAN, ratio, 0.9, m, 0.0)[1] for m in (1, 5))
    for level, options in (
        (majority, {"draws": 5}),
        (majority, {"draws": 2}),
        (one, {"calibration_draws": 4}),
        (majority, {"calibration_draws": 3, "draws": 4}),
    ):
        found = coverages(clean, moved, level, inputs=inputs, repeats=repeats, **options)
        assert found.mean() >= 0.9 - 4 * standard_error(found), options
    # Scores in steps: ties only add classes.
    tied = coverages(
        lambda rng, shape: np.round(clean(rng, shape)),
        lambda rng, shape: np.round(moved(rng, shape)),
        *(one,),
        inputs=inputs,
        repeats=repeats,
    )
    assert tied.mean() >= 0.9 - 4 * standard_error(tied)


def test_options_keep_the_coverage() -> None:
    check_options(repeats=100, inputs=400, ratio=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [0.5, 1.0])
def test_options_keep_the_coverage_over_2000_calibration_sets(ratio: float) -> None:
    check_options(repeats=2000, inputs=1000, ratio=ratio)


def check_confidence(repeats: int, inputs: int, ratio: float, calibration_draws: int) -> None:
    """At most eta of the calibration sets leave less coverage than promised."""
    _, level = calibration_level(GAUSSIAN, ratio, 0.9, 1, 0.0)
    rank, rng, below = rank_for(level, inputs, calibration_draws, 0.95), np.random.default_rng(0), 0
    assert rank <= inputs * calibration_draws
    for _ in range(repeats):
        scores = np.partition(rng.standard_normal(inputs * calibration_draws), rank - 1)
        below += special.ndtr(scores[rank - 1] - ratio) < 0.9
    assert below <= 0.05 * repeats + 4 * math.sqrt(0.05 * 0.95 * repeats)
    if calibration_draws == 1:
        exact = stats.beta.cdf(level, rank, inputs + 1 - rank)
        assert abs(below - exact * repeats) <= 4 * math.sqrt(exact * repeats)


def test_confidence_is_kept() -> None:
    check_confidence(repeats=400, inputs=500, ratio=1.0, calibration_draws=1)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [0.5, 1.0])
@pytest.mark.parametrize("calibration_draws", [1, 4])
def test_confidence_is_kept_over_2000_calibration_sets(
    ratio: float, calibration_draws: int
) -> None:
    check_confidence(2000, 1000, ratio, calibration_draws)


@pytest.mark.slow
def test_confidence_holds_when_all_draws_of_an_input_agree() -> None:
    """Draws of one input may tell nothing new: then each input still counts once."""
    _, level = calibration_level(GAUSSIAN, 0.5, 0.9, 1, 0.0)
    rank, rng, below = rank_for(level, 500, 4, 0.95), np.random.default_rng(0), 0
    for _ in range(2000):
        scores = np.repeat(np.sort(rng.standard_normal(500)), 4)
        below += special.ndtr(scores[rank - 1]) < level
    assert below <= 0.05 * 2000


@pytest.mark.parametrize(
    "law",
    [GeneralizedGaussian(20, 1.0, 8.0), GeneralizedGaussian(6, 1.0, 0.0, 1.0)],
    ids=["k = 8", "eta = 1"],
)
def test_the_worst_sets_of_other_laws_attain_the_bound(law: GeneralizedGaussian) -> None:
    """The score is the likelihood ratio of the shift, the worst that Neyman and Pearson know."""
    radius, repeats, inputs = 0.8, 150, 300
    unit = law.scale * math.sqrt(2)

    def log_density(norm: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(-2 * law.k * np.log(norm) - (norm / unit) ** law.eta)

    def draw(shift: float) -> Draw:
        def scores(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
            count = math.prod(shape)
            z = rng.standard_normal((count, law.d))
            norms = law.sample_norms(count, rng)
            noise = z * (norms / np.linalg.norm(z, axis=1))[:, None]
            noise[:, 0] += shift
            here = np.linalg.norm(noise, axis=1)
            noise[:, 0] -= radius
            away = np.linalg.norm(noise, axis=1)
            return (log_density(away) - log_density(here)).reshape(shape)

        return scores

    _, level = calibration_level(law, radius, 0.9, 1, 0.0)
    found = coverages(draw(0.0), draw(radius), level, inputs=inputs, repeats=repeats)
    assert found.mean() >= 0.9 - 4 * standard_error(found)
    # Convexity adds (0.9027 - 0.9 at n = 1000) times 1000 / 300, and a rank is rounded up.
    assert found.mean() <= 0.925 + 4 * standard_error(found)
    # A shift of the other sign, or half as long, covers more.
    for shift in (-radius, radius / 2):
        easier = coverages(draw(0.0), draw(shift), level, inputs=inputs, repeats=30)
        assert easier.mean() > found.mean()


@pytest.mark.parametrize("score", ["threshold", "adaptive"])
@pytest.mark.parametrize("draws", [1, 3])
def test_a_planted_adversary_meets_the_whole_program(score: str, draws: int) -> None:
    """From calibrate to predict, each input moved along the true gradient of its class."""
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((4, 6))
    model, count = linear(weights), 900
    labels = rng.integers(0, 4, count)
    step = 100 / 4080  # of the default grid, for bounds of -50 and 50
    x = np.round((weights[labels] + 0.8 * rng.standard_normal((count, 6))) / step) * step
    data = Dataset.from_arrays(x.astype(np.float32), labels, bounds=(-50.0, 50.0))
    law, radius = GeneralizedGaussian(6, 1.0), 0.8
    plan = SetPlan(law, radius, 0.9, score, draws)
    held, smaller = [], []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(count)
        sets = calibrate(model, data, plan, order[:500].tolist(), seed=seed)
        predictor = SetPredictor(model, sets, seed=seed)
        for index in order[500:]:
            y = int(labels[index])
            others = weights.mean(axis=0) * 4 / 3 - weights[y] / 3
            away = others - weights[y]
            point = x[index] + (radius - 0.05) * away / np.linalg.norm(away)
            point = np.round(point / step) * step
            assert np.linalg.norm(point - x[index]) <= radius
            answer = predictor.predict(point.astype(np.float32), index=int(index))
            held.append(y in answer)
            smaller.append(len(answer) < 4)
    assert np.mean(held) >= 0.9 - 4 * math.sqrt(0.09 / len(held) + 0.02**2 / 3)
    assert np.mean(smaller) > 0.1  # the sets say something


def test_the_worst_half_space_meets_the_whole_program() -> None:
    law = GeneralizedGaussian(2, 1.0)
    held = []
    for seed in range(8):
        sets = calibrate(half_space(), at_origin(200), SetPlan(law, 1.0, 0.9), seed=seed)
        predictor = SetPredictor(half_space(), sets, seed=seed)
        step = 100 / 4080
        moved = np.array([math.floor(1 / step) * step, 0.0], dtype=np.float32)
        held += [0 in predictor.predict(moved, index=i) for i in range(150)]
    # Coverage given 8 calibration sets of 200 varies by some 0.045 / sqrt(8).
    assert 0.9 - 4 * 0.018 <= np.mean(held) <= 0.9 + 4 * 0.018


def test_averaged_scores_at_the_level_of_one_draw_would_cover_less() -> None:
    """Why an answer of several draws is a majority of sets: the mean of scores moves as a whole."""
    _, level = calibration_level(GAUSSIAN, 1.0, 0.9, 1, 0.0)
    rng = np.random.default_rng(0)
    threshold = np.quantile(rng.standard_normal((20_000, 4)).mean(axis=1), level)
    moved = (rng.standard_normal((20_000, 4)) + 1.0).mean(axis=1)
    assert (moved <= threshold).mean() < 0.65


def test_a_majority_needs_more_than_half() -> None:
    scores = np.array([[0.1, 0.2, 0.9], [0.1, 0.8, 0.9]])
    assert set_of(scores, 0.5) == ((0,), (2, 1, 0))
    assert set_of(scores[:1], 0.2) == ((0, 1), (1, 1, 0))  # a tie is inside
    assert set_of(scores, 0.05) == ((), (0, 0, 0))
    assert set_of(scores, math.inf)[0] == (0, 1, 2)
    assert threshold_of((0.1,), 2) == math.inf
