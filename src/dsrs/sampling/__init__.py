"""Votes under noise: seeds, batches, workers. Knows no strategy."""

from dsrs.sampling.collect import Collector, Setting, WorkUnit, count_votes
from dsrs.sampling.inline import InlineCollector
from dsrs.sampling.workers import VoteCollector

__all__ = [
    "Collector",
    "InlineCollector",
    "Setting",
    "VoteCollector",
    "WorkUnit",
    "count_votes",
]
