"""How work goes on: a bar of progress, and several inputs at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any, TypeVar

# ---- A progress bar with an estimate of the remaining time: on standard error, or in a notebook

# How the bar redraws its line; it stands first in what is written.
ERASE_LINE = "\r\x1b[K"
BAR_WIDTH = 28
REDRAW_SECONDS = 0.2  # a terminal or a notebook
LOG_SECONDS = 30.0  # a file or a pipe: whole lines, and few of them


class Progress:
    """Shows how far `total` units of work have come; `total=None` when that is not known.

    On a terminal and in a notebook it redraws one line; elsewhere it writes a line now and then.
    """

    def __init__(self, total: int | None, label: str, quiet: bool = False) -> None:
        self.total = total
        self.label = label
        self.quiet = quiet
        self.done = 0
        self._skipped = 0
        self._votes = 0
        self._terminal = sys.stderr.isatty()
        self._cell = None if quiet else notebook_cell()
        self._start = time.monotonic()
        self._last_shown = self._start

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *failure: object) -> None:
        self._show(final=True)

    def skip(self, count: int) -> None:
        """Count work that was already done before, without letting it flatter the estimate."""
        self.done += count
        self._skipped += count

    def advance(self, count: int = 1, votes: int = 0) -> None:
        """Count finished work, and the votes that it took."""
        self.done += count
        self._votes += votes
        wait = REDRAW_SECONDS if self._terminal or self._cell else LOG_SECONDS
        if time.monotonic() - self._last_shown >= wait:
            self._show()

    def _show(self, final: bool = False) -> None:
        self._last_shown = time.monotonic()
        if self.quiet:
            return
        line = self._line(self._last_shown - self._start)
        if self._cell:
            self._cell.update({"text/plain": line}, raw=True)
        elif self._terminal:
            print(ERASE_LINE + line, end="\n" if final else "", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def _line(self, elapsed: float) -> str:
        fresh = self.done - self._skipped
        rate = fresh / elapsed if elapsed > 0 else 0.0
        if self.total is None:
            return f"{self.label}: {self.done:,} done, {_clock(elapsed)} elapsed, {rate:,.3g}/s"
        share = self.done / self.total if self.total else 1.0
        filled = int(BAR_WIDTH * share)
        bar = "█" * filled + "·" * (BAR_WIDTH - filled)
        left = _clock((self.total - self.done) / rate) if rate > 0 else "?"
        ending = f"{_clock(elapsed)} elapsed" if self.done >= self.total else f"{left} left"
        votes = f", {self._votes / elapsed:,.0f} votes/s" if self._votes and elapsed > 0 else ""
        return f"{self.label} {bar} {self.done:,}/{self.total:,}, {ending}, {rate:,.3g}/s{votes}"


def unseen(total: int) -> Progress:
    """The counter of work that nobody watches."""
    return Progress(total, "", quiet=True)


def is_watched() -> bool:
    """Whether somebody sees a bar while it moves: on a terminal, or in a notebook."""
    return sys.stderr.isatty() or _in_notebook()


def notebook_cell() -> Any:
    """A line of output below the cell of a notebook that runs, to be updated; elsewhere None."""
    if not _in_notebook():
        return None
    display: Any = sys.modules["IPython"].display.display
    return display({"text/plain": ""}, raw=True, display_id=True)


def _in_notebook() -> bool:
    # Only who is in a notebook has IPython loaded, and a shell that has a kernel.
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


def _clock(seconds: float) -> str:
    whole = int(seconds + 0.5)
    hours, rest = divmod(whole, 3600)
    return (
        f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{whole // 60}:{whole % 60:02d}"
    )


# ---- Several inputs at once: small looks leave a device idle, and other inputs fill the gaps
#
# Each input is sampled and certified by one thread; the thread that asked for them keeps the
# results.

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
