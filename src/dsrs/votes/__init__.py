"""Votes under noise: seeds, batches, workers. Knows no method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.noise import Stream as Stream
    from dsrs.votes.clusters import EXECUTORS as EXECUTORS
    from dsrs.votes.clusters import RayExecutor as RayExecutor
    from dsrs.votes.clusters import connect_to_ray as connect_to_ray
    from dsrs.votes.clusters import executor_at as executor_at
    from dsrs.votes.clusters import register_executor as register_executor
    from dsrs.votes.collect import UNIT_SAMPLES as UNIT_SAMPLES
    from dsrs.votes.collect import Collector as Collector
    from dsrs.votes.collect import InlineCollector as InlineCollector
    from dsrs.votes.collect import Setting as Setting
    from dsrs.votes.collect import Stopped as Stopped
    from dsrs.votes.collect import VoteCollector as VoteCollector
    from dsrs.votes.collect import VoteCounter as VoteCounter
    from dsrs.votes.collect import WorkUnit as WorkUnit
    from dsrs.votes.collect import count_votes as count_votes
    from dsrs.votes.collect import crew_of as crew_of
    from dsrs.votes.executors import Executor as Executor
    from dsrs.votes.executors import ModelSpec as ModelSpec
    from dsrs.votes.executors import ThreadExecutor as ThreadExecutor
    from dsrs.votes.machine import PACKAGES as PACKAGES
    from dsrs.votes.machine import DeviceReport as DeviceReport
    from dsrs.votes.machine import Machine as Machine
    from dsrs.votes.machine import examine as examine
    from dsrs.votes.records import ESTIMATION as ESTIMATION
    from dsrs.votes.records import SELECTION as SELECTION
    from dsrs.votes.records import Batch as Batch
    from dsrs.votes.records import Counts as Counts
    from dsrs.votes.records import Histogram as Histogram
    from dsrs.votes.records import SampledInput as SampledInput
    from dsrs.votes.records import Tally as Tally
    from dsrs.votes.records import Votes as Votes
else:
    __all__, __getattr__, __dir__ = exports(__name__)
