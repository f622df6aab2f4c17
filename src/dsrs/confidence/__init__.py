"""Confidence bounds of probabilities, and the failure probability that they spend."""

from dsrs.confidence.alpha_budget import AlphaBudget, Share
from dsrs.confidence.binomial_tail import EPSILON, log_upper_tail
from dsrs.confidence.bootstrap import (
    RESAMPLES_PER_BLOCK,
    Estimate,
    Floats,
    Resampling,
    draw_counts,
    interval,
    resampled_means,
)
from dsrs.confidence.clopper_pearson import (
    ConfidenceInterval,
    clopper_pearson,
    clopper_pearson_lower,
    clopper_pearson_upper,
)
from dsrs.confidence.nonnegative_mean import BETS, nonnegative_mean_lower

__all__ = [
    "BETS",
    "EPSILON",
    "RESAMPLES_PER_BLOCK",
    "AlphaBudget",
    "ConfidenceInterval",
    "Estimate",
    "Floats",
    "Resampling",
    "Share",
    "clopper_pearson",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "draw_counts",
    "interval",
    "log_upper_tail",
    "nonnegative_mean_lower",
    "resampled_means",
]
