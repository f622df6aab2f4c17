"""Votes under noise: seeds, batches, workers. Knows no method."""

from dsrs.noise import Stream
from dsrs.votes.clusters import (
    EXECUTORS,
    RayExecutor,
    connect_to_ray,
    executor_at,
    register_executor,
)
from dsrs.votes.collect import (
    UNIT_SAMPLES,
    Collector,
    InlineCollector,
    Setting,
    Stopped,
    VoteCollector,
    VoteCounter,
    WorkUnit,
    count_votes,
    crew_of,
)
from dsrs.votes.executors import Executor, ModelSpec, ThreadExecutor
from dsrs.votes.machine import PACKAGES, DeviceReport, Machine, examine
from dsrs.votes.records import (
    ESTIMATION,
    SELECTION,
    Batch,
    Counts,
    Histogram,
    SampledInput,
    Tally,
    Votes,
)

__all__ = [
    "ESTIMATION",
    "EXECUTORS",
    "PACKAGES",
    "SELECTION",
    "UNIT_SAMPLES",
    "Batch",
    "Collector",
    "Counts",
    "DeviceReport",
    "Executor",
    "Histogram",
    "InlineCollector",
    "Machine",
    "ModelSpec",
    "RayExecutor",
    "SampledInput",
    "Setting",
    "Stopped",
    "Stream",
    "Tally",
    "ThreadExecutor",
    "VoteCollector",
    "VoteCounter",
    "Votes",
    "WorkUnit",
    "connect_to_ray",
    "count_votes",
    "crew_of",
    "examine",
    "executor_at",
    "register_executor",
]
