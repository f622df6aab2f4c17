"""Votes under noise: seeds, batches, workers. Knows no strategy."""

from dsrs.sampling.collect import Collector, Setting, VoteCollector, WorkUnit, count_votes
from dsrs.sampling.inline import InlineCollector

__all__ = [
    "Collector",
    "InlineCollector",
    "Setting",
    "VoteCollector",
    "WorkUnit",
    "count_votes",
]
