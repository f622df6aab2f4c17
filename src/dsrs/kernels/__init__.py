"""Compiled functions, where they are kept between two processes, and how many threads run."""

from dsrs.kernels.cache import (
    CACHE,
    IN_USE_SECONDS,
    cache_home,
    jitted,
    jitted_together,
    kernel_folder,
)
from dsrs.kernels.threads import MOST_WORKERS, available_cores, thread_count

__all__ = [
    "CACHE",
    "IN_USE_SECONDS",
    "MOST_WORKERS",
    "available_cores",
    "cache_home",
    "jitted",
    "jitted_together",
    "kernel_folder",
    "thread_count",
]
