"""One source, two ways to run it: interpreted at once, compiled where the work ahead is worth it.

A kernel is an ordinary Python function of numbers, arrays and named tuples that Numba can compile
too. Kernels call each other directly. Those marked `entry` are called from outside; they run
interpreted (some tens of milliseconds a certificate, no start-up) until compiled kernels are there
(a fraction of a millisecond, but half a minute to compile once). `prepare` decides which: it takes
compiled kernels from the cache, or has another process fill the cache beside the work. The
environment variable DSRS_KERNELS = auto, interpreted or compiled overrules it.
"""

from __future__ import annotations

import functools
import importlib
import logging
import math
import os
import pkgutil
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from dsrs.kernels import jitted_together, kernel_folder

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

SWITCH = "DSRS_KERNELS"
COMPLETE = "complete"  # the file that marks a cache of all entries
# In certificates. Loading compiled kernels takes about a second, compiling them most of a minute.
WORTH_LOADING, WORTH_COMPILING = 40, 1000
# In integrands, of which some ten thousand a second are evaluated interpreted.
WORTH_LOADING_FOR, WORTH_COMPILING_FOR = 1e4, 1e5
POLL_SECONDS = 0.5

log = logging.getLogger("dsrs.kernels")
_kernels: dict[Callable[..., Any], str] = {}
_inlined: set[Callable[..., Any]] = set()
_entries: set[Callable[..., Any]] = set()
_lock = threading.Lock()  # of what follows, when it is written
_compiled: dict[str, Callable[..., Any]] = {}  # replaced as a whole: calls read it without the lock
_compiler: subprocess.Popen[bytes] | None = None
_failed = False  # the compiler did, so it is not started again
_next_poll = 0.0


def kernel(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Mark a function as one that other kernels call."""
    _kernels[function] = f"{function.__module__}.{function.__qualname__}"
    return function


def inlined(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Mark a kernel that is compiled into its one or two callers.

    Every other kernel is compiled with a copy of all it calls: on the way from the smallest to the
    largest the same code would be compiled once for each of them.
    """
    _inlined.add(function)
    return kernel(function)


class Entry:
    """A kernel that is called from outside: interpreted, or compiled as soon as it can be."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = _kernels[function]
        _entries.add(function)
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if not _compiled:
            if _compiler is not None:
                _look_for_compiled()
            if not _compiled and switch() == "compiled":
                compile_kernels()
        # An entry that was marked after the others were compiled stays interpreted.
        if compiled := _compiled.get(self.name):
            return compiled(*arguments)
        # Overflow to infinity and 0 * inf are part of the computation, as in compiled code.
        with np.errstate(all="ignore"):
            return self.function(*arguments)


def entry(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Mark a kernel as one that is called from outside; other kernels call `NAME.function`."""
    return Entry(kernel(function))  # type: ignore[return-value]


def switch() -> str:
    """Return what the environment variable DSRS_KERNELS asks for."""
    value = os.environ.get(SWITCH, "auto")
    if value not in ("auto", "interpreted", "compiled"):
        from dsrs.errors import InvalidInput

        raise InvalidInput(f"{SWITCH} must be auto, interpreted or compiled, got {value!r}")
    return value


def mode() -> str:
    """Return `compiled`, `compiling` or `interpreted`."""
    return "compiled" if _compiled else "compiling" if _compiler else "interpreted"


def prepare(certificates: int) -> str:
    """Make ready for this many certificates, without waiting; returns `mode()`.

    `compiling` means that another process compiles while this one goes on interpreted.
    """
    global _compiler
    with _lock:
        settled = _compiled or _compiler or _failed or switch() == "interpreted"
        if settled or certificates < WORTH_LOADING:
            return mode()
        folder = cache_folder()
        if folder and is_complete(folder):
            _load(folder)
        elif certificates >= WORTH_COMPILING and folder:
            log.info(
                "compiling kernels in another process while the first certificates are "
                "interpreted; once per version"
            )
            _compiler = _start_compiler()
        elif certificates >= WORTH_COMPILING:
            log.info("compiling kernels; there is no folder to keep them in for the next time")
            _load(None)
    return mode()


def _start_compiler() -> subprocess.Popen[bytes]:
    """It says nothing, gets Ctrl-C as we do, and finishes its work if we are faster."""
    silent = subprocess.DEVNULL
    command = [sys.executable, "-m", "dsrs.proofs.compiling"]
    return subprocess.Popen(command, stdin=silent, stdout=silent, stderr=silent)


def affordable_work() -> float:
    """Integrands that may be evaluated before waiting for the compiler is the shorter way."""
    if _compiled or switch() != "auto":
        return math.inf
    folder = cache_folder()
    return WORTH_LOADING_FOR if folder and is_complete(folder) else WORTH_COMPILING_FOR


def compile_kernels() -> None:
    """Use compiled kernels from now on; waits until the cache holds all of them.

    Another process fills the cache, as in `prepare`. Where there is no cache, or that process
    fails, each kernel is compiled here when it is first called.
    """
    global _compiler
    with _lock:
        if _compiled:
            return
        folder = cache_folder()
        if folder and not is_complete(folder):
            if _compiler is None:
                log.info("compiling kernels; once per version")
                _compiler = _start_compiler()
            _compiler.wait()
        _compiler = None
        _load(folder)


def compile_here(folder: Path) -> None:
    """Use compiled kernels from now on; each is compiled, and kept in `folder`, when it is first
    called."""
    with _lock:
        _load(folder)


def mark_complete(folder: Path) -> None:
    """Mark the cache as complete. Every entry must have been called before."""
    missing = [_kernels[each] for each in _entries if not _compiled[_kernels[each]].signatures]  # type: ignore[attr-defined]
    if missing:
        raise RuntimeError(f"entries that were not compiled: {', '.join(sorted(missing))}")
    (folder / COMPLETE).touch()


def _look_for_compiled() -> None:
    """Switch over when the other process has filled the cache; do without it if it failed."""
    global _compiler, _failed, _next_poll
    if time.monotonic() < _next_poll or not _lock.acquire(blocking=False):
        return
    try:
        _next_poll = time.monotonic() + POLL_SECONDS
        if _compiler is not None and _compiler.poll() is not None:
            code, folder, _compiler = _compiler.returncode, cache_folder(), None
            if code == 0 and folder and is_complete(folder):
                _load(folder)
            else:
                _failed = True
                warnings.warn(
                    f"the kernels could not be compiled (exit code {code}; see "
                    "`python -m dsrs.proofs.compiling`), so the slow way goes on",
                    RuntimeWarning,
                    stacklevel=2,
                )
    finally:
        _lock.release()


def _load(folder: Path | None) -> None:
    """Make the compiled kernels; those of `folder` are loaded when they are first called."""
    global _compiled
    # Kernels of files that nobody has imported yet are wanted later.
    for file in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"{__package__}.{file.name}")
    made = jitted_together(_kernels, _entries, folder, _inlined)
    _compiled = {_kernels[function]: compiled for function, compiled in made.items()}


def cache_folder() -> Path | None:
    """Where compiled kernels are kept; None if nothing can be."""
    return kernel_folder(*sorted(Path(__file__).parent.glob("*.py")))


def is_complete(folder: Path) -> bool:
    """Whether a cache holds all entries."""
    return (folder / COMPLETE).exists()
