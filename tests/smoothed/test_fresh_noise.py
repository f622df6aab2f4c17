"""Whoever chooses the input cannot know its noise: grinding for wrong answers gains nothing."""

from __future__ import annotations

import math
import secrets
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dsrs import GeneralizedGaussian, SmoothedClassifier
from dsrs.classifiers import from_callable
from dsrs.errors import DataError, InvalidInput
from dsrs.methods import Plan
from dsrs.noise import check_seed

D, VOTES, SIGMA = 4, 200, 0.25
EDGE = 0.5
HALF_SPACE = from_callable(
    lambda batch: (batch[:, 0] > EDGE).astype(np.int64), (D,), 2, fingerprint="half-space"
)
RIGHT = 1  # the class of every input that the attacker tries


def smoothing(alpha: float, seed: int | None = None) -> SmoothedClassifier:
    law = GeneralizedGaussian(D, SIGMA)
    return SmoothedClassifier(
        HALF_SPACE, law, n=VOTES, alpha=alpha, method="np", seed=seed, workers=1
    )


def tries(count: int) -> NDArray[np.float32]:
    """Inputs just inside the half-space: other low bits in the other coordinates."""
    inputs = np.random.default_rng(0).random((count, D), dtype=np.float32)
    inputs[:, 0] = EDGE + 1 / 4080
    return inputs


def is_wrong(smoothed: SmoothedClassifier, x: NDArray[np.float32]) -> bool:
    return bool(smoothed.predict(x, n=VOTES).label == 1 - RIGHT)


def ground(alpha: float, count: int) -> tuple[int, int, int]:
    """How many of `count` inputs were answered wrongly, how many again, and of how many.

    Those that were wrong are asked again until there are a tenth as many answers.
    """
    smoothed = smoothing(alpha)
    wrong = [x for x in tries(count) if is_wrong(smoothed, x)]
    repeats = count // 10 // max(1, len(wrong)) + 1
    again = sum(is_wrong(smoothed, x) for x in wrong for _ in range(repeats))
    return len(wrong), again, repeats * len(wrong)


def assert_grinding_gains_nothing(alpha: float, count: int) -> None:
    wrong, again, asked = ground(alpha, count)
    assert wrong <= stats.binom.ppf(0.999, count, alpha)
    assert again <= stats.binom.ppf(0.999, asked, alpha)
    # No oftener than the others: a wrong answer tells nothing of the next one to the same input.
    table = [[again, asked - again], [wrong, count - wrong]]
    assert stats.fisher_exact(table, alternative="greater").pvalue > 1e-6


def test_grinding_gains_nothing_where_noise_is_fresh() -> None:
    assert_grinding_gains_nothing(0.05, 400)


@pytest.mark.slow  # 20,000 tries: 1,097 and 35 wrong answers are allowed
@pytest.mark.parametrize(("alpha", "most"), [(0.05, 1097), (0.001, 35)])
def test_grinding_gains_nothing_in_twenty_thousand_tries(alpha: float, most: int) -> None:
    assert stats.binom.ppf(0.999, 20_000, alpha) == most
    assert_grinding_gains_nothing(alpha, 20_000)


def test_with_a_public_seed_wrong_answers_can_be_ground_and_stay_wrong() -> None:
    """What docs/security.md warns of: the attacker tries numbers for an input, offline."""
    smoothed, x = smoothing(0.05, seed=0), tries(1)[0]
    wrong = [i for i in range(400) if smoothed.predict(x, n=VOTES, index=i).label == 1 - RIGHT]
    assert len(wrong) >= 2
    elsewhere = smoothing(0.05, seed=0)
    for index in wrong:
        assert elsewhere.predict(x, n=VOTES, index=index).label == 1 - RIGHT


def test_the_same_input_asked_twice_gets_other_noise() -> None:
    smoothed, x = smoothing(0.001), tries(1)[0]
    answers = [smoothed.predict(x, n=VOTES) for _ in range(4)]
    assert len({answer.seed for answer in answers}) == 4
    assert len({answer.counts for answer in answers}) > 1
    assert not any(answer.seed_public for answer in answers)
    votes = [smoothed.sample(x).votes for _ in range(2)]
    assert votes[0] != votes[1]


def test_the_seed_of_an_answer_gives_its_votes_again_and_then_it_is_public() -> None:
    x = tries(1)[0]
    answer = smoothing(0.001).predict(x, n=VOTES)
    again = smoothing(0.001, seed=answer.seed).predict(x, n=VOTES)
    assert (again.counts, again.label, again.seed) == (answer.counts, answer.label, answer.seed)
    assert again.seed_public


def test_a_certificate_carries_the_fresh_seed_of_its_votes() -> None:
    x = tries(1)[0] + np.float32(0.2)
    certificate = smoothing(0.001).certify(x, RIGHT)
    subject = certificate.subject
    assert subject is not None
    assert not subject.seed_public
    again = smoothing(0.001, seed=subject.seed).certify(x, RIGHT)
    assert again == replace(certificate, subject=replace(subject, seed_public=True))
    assert smoothing(0.001, seed=1).certify(x, RIGHT) != again


def test_seeds_are_drawn_by_the_operating_system_when_the_input_has_arrived(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    smoothed, x = smoothing(0.001), tries(1)[0]
    drawn = [2**128 - 1, 5]
    monkeypatch.setattr(secrets, "randbits", lambda bits: drawn.pop() if bits == 128 else None)
    with pytest.raises(DataError, match="must have the classifier's shape"):
        smoothed.predict(np.zeros(D + 1, np.float32))
    assert len(drawn) == 2
    assert smoothed.predict(x, n=VOTES).seed == 5
    smoothed.certify(x)
    assert not drawn


@pytest.mark.parametrize("seed", [-1, 2**128, 10**40, 1.5, True, "7"])
def test_seeds_that_would_share_words_with_the_index_are_refused(seed: object) -> None:
    law = GeneralizedGaussian(D, SIGMA)
    for ask in (
        lambda: check_seed(seed),
        lambda: Plan(law, seed=seed),  # type: ignore[arg-type]
        lambda: smoothing(0.001, seed=seed),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidInput, match=r"`seed` must be a whole number from 0 to 2\^128"):
            ask()
    check_seed(2**128 - 1)


def test_messages_about_an_input_without_a_number_name_none() -> None:
    smoothed = smoothing(0.001)
    bad = np.full(D, math.nan, np.float32)
    for ask in (smoothed.predict, smoothed.certify):
        with pytest.raises(DataError, match=r"^the input must be finite numbers"):
            ask(bad)
