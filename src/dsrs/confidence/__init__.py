"""Confidence bounds of probabilities, and the failure probability that they spend."""

from dsrs.confidence.alpha_budget import AlphaBudget, Share
from dsrs.confidence.clopper_pearson import (
    ConfidenceInterval,
    clopper_pearson,
    clopper_pearson_lower,
    clopper_pearson_upper,
)

__all__ = [
    "AlphaBudget",
    "ConfidenceInterval",
    "Share",
    "clopper_pearson",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
]
