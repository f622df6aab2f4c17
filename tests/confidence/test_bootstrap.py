from __future__ import annotations

import numpy as np
import pytest

from dsrs.confidence import RESAMPLES_PER_BLOCK, Resampling, draw_counts, interval, resampled_means
from dsrs.errors import InvalidInput


def test_every_resample_has_as_many_inputs() -> None:
    blocks = list(draw_counts(7, Resampling(RESAMPLES_PER_BLOCK + 13)))
    assert [len(block) for block in blocks] == [RESAMPLES_PER_BLOCK, 13]
    assert all((block.sum(axis=1) == 7).all() for block in blocks)


def test_means_vary_like_the_standard_error() -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, (400, 1))
    means = resampled_means(values, Resampling(4000, seed=2))
    # Both are estimates: 4000 resamples know a standard deviation to about 1.1 %.
    assert means.mean() == pytest.approx(values.mean(), abs=0.01)
    assert means.std() == pytest.approx(values.std() / 20, rel=0.06)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    """300 test subsets of 80 inputs each, true accuracy 0.7, 90 % intervals."""
    generator = np.random.default_rng(0)
    columns = (generator.random((80, 300)) < 0.7).astype(np.float64)
    low, high = interval(resampled_means(columns, Resampling(1000)), 0.9)
    covered = np.mean((low <= 0.7) & (high >= 0.7))
    # One standard error of this share is 1.7 %; the percentile interval itself runs 1 to 2 % short.
    assert 0.83 <= covered <= 0.96


def test_a_wider_confidence_gives_a_wider_interval() -> None:
    samples = resampled_means(np.random.default_rng(3).random((50, 1)), Resampling(500))
    narrow, wide = (interval(samples, confidence) for confidence in (0.5, 0.99))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize(
    "options", [{"resamples": 99}, {"resamples": 10**23}, {"confidence": 1.0}, {"seed": -1}]
)
def test_bad_settings_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(options))):
        Resampling(**options)  # type: ignore[arg-type]
