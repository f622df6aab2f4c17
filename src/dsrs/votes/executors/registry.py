"""Executors by the address that names them: `--cluster SCHEME://...`.

A new one is a file with a subclass of `Executor` and a line in `SCHEMES`, or `register`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dsrs.votes.executors.base import Executor
from dsrs.votes.executors.model_spec import ModelSpec
from dsrs.votes.executors.ray_cluster import RayExecutor

RAY = "ray"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where to count votes.

    Attributes:
        address: as it is given: `local`, `HOST:6379`, `ray://HOST:10001`, `SCHEME://...`.
        threads: cores of each of those who count.
        device: where the model runs: "cpu", "cuda".
    """

    address: str
    threads: int = 1
    device: str = "cpu"


Maker = Callable[[ModelSpec, Cluster], Executor]


def _ray(spec: ModelSpec, cluster: Cluster) -> Executor:
    return RayExecutor(spec, cluster.address, threads=cluster.threads, device=cluster.device)


SCHEMES: dict[str, Maker] = {RAY: _ray}


def register(scheme: str, make: Maker) -> None:
    """Let `make` make the executors of addresses that begin with `scheme://`."""
    SCHEMES[scheme] = make


def executor_of(spec: ModelSpec, cluster: Cluster) -> Executor:
    """The executor that an address names; one without a scheme that is known is Ray's."""
    scheme = cluster.address.partition("://")[0]
    return SCHEMES.get(scheme, _ray)(spec, cluster)
