"""Several inputs at once: small looks leave a device idle, and other inputs fill the gaps.

Each input is sampled and certified by one thread; the thread that asked for them keeps the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import TypeVar

T = TypeVar("T")


def keep_all(
    work: Callable[[int, Event], T],
    keep: Callable[[T], None],
    indices: Iterable[int],
    workers: int,
) -> None:
    """Call `keep` with the result of `work` for every index, in the order in which they finish.

    `work` must end soon once its event is set. After Ctrl-C, or an error of one input, whatever is
    finished is kept before that is raised.
    """
    waiting, stop = iter(indices), Event()
    not_kept: set[Future[T]] = set()
    with ThreadPoolExecutor(workers, thread_name_prefix="dsrs-input") as pool:
        try:
            while True:
                # One more than there are threads, so that none waits while a result is kept.
                while len(not_kept) <= workers and (index := next(waiting, None)) is not None:
                    not_kept.add(pool.submit(work, index, stop))
                if not not_kept:
                    return
                for future in wait(not_kept, return_when=FIRST_COMPLETED).done:
                    keep(future.result())
                    not_kept.remove(future)
        except BaseException:
            stop.set()
            for future in not_kept:
                future.cancel()
                if future.done() and not future.cancelled() and future.exception() is None:
                    keep(future.result())
            raise
