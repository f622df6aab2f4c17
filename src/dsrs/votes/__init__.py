"""Votes under noise: seeds, batches, workers. Knows no method."""

from dsrs.noise import Stream
from dsrs.votes.collect import (
    UNIT_SAMPLES,
    Collector,
    Setting,
    Stopped,
    VoteCounter,
    WorkUnit,
    count_votes,
)
from dsrs.votes.executors.base import Executor
from dsrs.votes.executors.model_spec import ModelSpec
from dsrs.votes.executors.ray_cluster import RayExecutor, connect_to_ray
from dsrs.votes.executors.registry import EXECUTORS, executor_at, register_executor
from dsrs.votes.executors.threads import ThreadExecutor
from dsrs.votes.inline import InlineCollector
from dsrs.votes.machine import PACKAGES, DeviceReport, Machine, examine
from dsrs.votes.records import ESTIMATION, SELECTION, SampledInput, Votes
from dsrs.votes.tally import Batch, Counts, Histogram, Tally
from dsrs.votes.workers import VoteCollector, crew_of

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
