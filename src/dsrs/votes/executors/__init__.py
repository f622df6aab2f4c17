"""Where units of work are counted: by threads of this machine, or by actors of a Ray cluster.

The votes do not depend on it. A new executor is a file with its class, and a line in registry.py.
"""

from dsrs.votes.executors.base import Executor
from dsrs.votes.executors.model_spec import ModelSpec
from dsrs.votes.executors.ray_cluster import RayExecutor
from dsrs.votes.executors.registry import executor_at, register_executor
from dsrs.votes.executors.threads import ThreadExecutor

__all__ = [
    "Executor",
    "ModelSpec",
    "RayExecutor",
    "ThreadExecutor",
    "executor_at",
    "register_executor",
]
