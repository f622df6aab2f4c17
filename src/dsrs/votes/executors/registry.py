"""The executors that `dsrs certify --cluster` knows, by name."""

from __future__ import annotations

from typing import Protocol

from dsrs.errors import InvalidInput
from dsrs.votes.executors.base import Executor
from dsrs.votes.executors.model_spec import ModelSpec
from dsrs.votes.executors.ray_cluster import RayExecutor


class Factory(Protocol):
    """Makes an executor that counts the votes of a model elsewhere."""

    def __call__(self, spec: ModelSpec, address: str, *, threads: int, device: str) -> Executor:
        """The executor at an address.

        Args:
            spec: how to build the model there.
            address: what follows --cluster.
            threads: cores of each worker.
            device: where the model runs.
        """


RAY = "ray"

# A new executor is added here.
EXECUTORS: dict[str, Factory] = {RAY: RayExecutor}


def register_executor(name: str, factory: Factory) -> None:
    """Make an executor of another package known to `--cluster`, as NAME or NAME://ADDRESS."""
    if EXECUTORS.get(name, factory) is not factory:
        raise InvalidInput(f"there is an executor named {name!r} already")
    EXECUTORS[name] = factory


def executor_at(address: str, spec: ModelSpec, *, threads: int, device: str) -> Executor:
    """The executor at `address`: NAME or NAME://ADDRESS; all other addresses are Ray's."""
    name, is_scheme, _ = address.partition("://")
    if is_scheme and name not in EXECUTORS:
        raise InvalidInput(f"{address!r} must begin with one of {', '.join(EXECUTORS)}")
    factory = EXECUTORS.get(name, EXECUTORS[RAY])
    return factory(spec, address, threads=threads, device=device)
