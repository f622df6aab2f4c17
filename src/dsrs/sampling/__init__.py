"""Votes under noise: seeds, batches, budgets, and the certificates they allow."""

from dsrs.sampling.certificates import certify_method, certify_votes
from dsrs.sampling.collect import VoteCollector, WorkUnit, count_votes
from dsrs.sampling.plan import SamplingPlan
from dsrs.sampling.sample import sample_input
from dsrs.sampling.smoothed import Prediction, SmoothedClassifier
from dsrs.sampling.votes import SampledInput, Votes

__all__ = [
    "Prediction",
    "SampledInput",
    "SamplingPlan",
    "SmoothedClassifier",
    "VoteCollector",
    "Votes",
    "WorkUnit",
    "certify_method",
    "certify_votes",
    "count_votes",
    "sample_input",
]
