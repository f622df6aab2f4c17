"""Votes under noise: seeds, batches, workers. Knows no strategy."""

from dsrs.sampling.collect import Setting, VoteCollector, WorkUnit, count_votes

__all__ = ["Setting", "VoteCollector", "WorkUnit", "count_votes"]
