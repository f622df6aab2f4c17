"""How many threads to start."""

from __future__ import annotations

import os

from dsrs.errors import InvalidInput

MOST_WORKERS = 1024  # threads; more than any machine has cores for


def thread_count(workers: int | None) -> int:
    """Return `workers` if it is a possible number of threads, and for None one for each core."""
    if workers is None:
        return available_cores()
    if not 1 <= workers <= MOST_WORKERS:
        raise InvalidInput(f"`workers` must be from 1 to {MOST_WORKERS}, got {workers}")
    return workers


def available_cores() -> int:
    """Return the number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
