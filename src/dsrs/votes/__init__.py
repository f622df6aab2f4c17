"""Votes under noise: seeds, batches, workers. Knows no method."""

from dsrs.noise.stream import Stream
from dsrs.votes.collect import Collector, Setting, WorkUnit, count_votes
from dsrs.votes.inline import InlineCollector
from dsrs.votes.workers import VoteCollector

__all__ = [
    "Collector",
    "InlineCollector",
    "Setting",
    "Stream",
    "VoteCollector",
    "WorkUnit",
    "count_votes",
]
