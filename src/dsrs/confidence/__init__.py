"""Confidence bounds of probabilities, and the failure probability that they spend."""

from dsrs.confidence.clopper_pearson import (
    EPSILON,
    AlphaBudget,
    ConfidenceInterval,
    Share,
    clopper_pearson,
    clopper_pearson_lower,
    clopper_pearson_upper,
    log_upper_tail,
)
from dsrs.confidence.means import (
    BETS,
    RESAMPLES_PER_BLOCK,
    Estimate,
    Floats,
    Resampling,
    draw_counts,
    interval,
    nonnegative_mean_lower,
    resampled_means,
)

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
