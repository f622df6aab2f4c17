"""What fresh votes prove, and that it is wrong at most alpha often, however points are chosen."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dsrs.attack import POINT_ALPHA_SHARES, AttackSettings, Shares, attack_input, proved
from dsrs.classifiers import Classifier
from dsrs.errors import AlphaOverspent
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs import Claim, Interval, certify


def most(alpha: float, runs: int) -> int:
    """What a method that fails alpha often exceeds in one of a million simulations."""
    return int(stats.binom.isf(1e-6, runs, alpha))


@pytest.mark.parametrize(
    ("counts", "claim", "shown"),
    [
        ((450, 550), "majority", "answer changed"),
        ((550, 450), "majority", "nothing"),
        ((495, 505), "majority", "nothing"),
        ((4000, 3000, 3000), "majority", "majority lost"),
        ((4000, 3000, 3000), "lead", "nothing"),
        ((3000, 3500, 3500), "lead", "answer changed"),
        ((0, 0, 1000), "majority", "majority lost"),
    ],
)
def test_what_votes_prove(counts: tuple[int, ...], claim: Claim, shown: str) -> None:
    """The target is class 0, its rival class 1."""
    assert proved(counts, 0, 1, claim, alpha=0.01) == shown


def test_noise_that_is_not_ideal_needs_more() -> None:
    counts = (4890, 5110)
    assert proved(counts, 0, 1, "majority", 0.05) == "answer changed"
    assert proved(counts, 0, 1, "majority", 0.05, slack=0.002) == "majority lost"
    assert proved(counts, 0, 1, "majority", 0.05, slack=0.01) == "nothing"


def test_the_shares_never_exceed_alpha() -> None:
    assert sum(map(Fraction, map(str, POINT_ALPHA_SHARES))) <= 1
    shares = Shares(0.001)
    spent = 0.0
    while shares.next > 0:
        spent += shares.spend("a point")
    assert 0.00099 < spent <= 0.001
    with pytest.raises((AlphaOverspent, IndexError)):
        shares.spend("one point more")


@pytest.mark.parametrize("claim", ["majority", "lead"])
def test_proofs_at_adaptively_chosen_points_are_wrong_at_most_alpha_often(claim: Claim) -> None:
    """At every point the claim still holds, by nothing: P_A = 1/2, or P_A = P_b.

    The searcher verifies all the points it may, and stops at the first success.
    """
    generator, alpha, runs = np.random.default_rng(0), 0.05, 1500
    shares = [0.5, 0.3, 0.2] if claim == "majority" else [0.4, 0.4, 0.2]
    wrong = 0
    for _ in range(runs):
        paid = Shares(alpha)
        while paid.next > 0:
            share = paid.spend("a point")
            counts = generator.multinomial(int(generator.integers(50, 2000)), shares).tolist()
            if proved(counts, 0, 1, claim, share) != "nothing":
                wrong += 1
                break
    assert wrong <= most(alpha, runs)
    assert wrong > 0.3 * alpha * runs  # and alpha is not wasted


class Coin(Classifier):
    """A fair coin at every point: the fraction of the first value, far finer than the noise."""

    num_classes, bounds = 2, (0.0, 1.0)
    fingerprint = description = "coin"
    input_shape = (3,)

    def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
        return (np.floor(batch[:, 0] * 1000) % 2).astype(np.int64)


def test_a_whole_attack_is_wrong_at_most_alpha_often() -> None:
    """P_A is 1/2 wherever the walk may go: no majority is ever lost further, nobody is ahead."""
    law, alpha, runs = GeneralizedGaussian(3, 0.5), 0.1, 150
    certificate = certify(law, Interval(0.6, 1.0))
    wrong = 0
    for seed in range(runs):
        settings = AttackSettings(budget=4096, alpha=alpha, seed=seed)
        found = attack_input(Coin(), np.zeros(3, np.float32), 1, certificate, settings)
        assert found.candidates
        wrong += found.attacked is not None
    assert wrong <= most(alpha, runs)
