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
import hashlib
import importlib
import math
import os
import pkgutil
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

SWITCH = "DSRS_KERNELS"
CACHE = "DSRS_CACHE_DIR"
# Loading compiled kernels takes about a second, compiling them most of a minute.
WORTH_LOADING, WORTH_COMPILING = 40, 1000
WORTH_WAITING = 1e5  # integrands; interpreted they take some ten seconds
POLL_SECONDS = 0.5

_kernels: dict[Callable[..., Any], str] = {}
_compiled: dict[str, Callable[..., Any]] = {}
_lock = threading.Lock()
_compiler: subprocess.Popen[bytes] | None = None
_next_poll = 0.0


def kernel(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Mark a function as one that other kernels call."""
    _kernels[function] = f"{function.__module__}.{function.__qualname__}"
    return function


class Entry:
    """A kernel that is called from outside: interpreted, or compiled as soon as it can be."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = _kernels[function]
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if _compiler is not None:
            _look_for_compiled()
        if not _compiled and switch() == "compiled":
            compile_kernels()
        if _compiled:
            return _compiled[self.name](*arguments)
        # Overflow to infinity and 0 * inf are part of the computation, as in compiled code.
        with np.errstate(all="ignore"):
            return self.function(*arguments)


def entry(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Mark a kernel as one that is called from outside; other kernels call `NAME.function`."""
    return Entry(kernel(function))  # type: ignore[return-value]


def switch() -> str:
    """What DSRS_KERNELS asks for."""
    value = os.environ.get(SWITCH, "auto")
    if value not in ("auto", "interpreted", "compiled"):
        from dsrs.errors import InvalidInput

        raise InvalidInput(f"{SWITCH} must be auto, interpreted or compiled, got {value!r}")
    return value


def mode() -> str:
    """`compiled`, `compiling` or `interpreted`."""
    return "compiled" if _compiled else "compiling" if _compiler else "interpreted"


def prepare(certificates: int) -> str:
    """Make ready for this many certificates, without waiting; returns `mode()`.

    `compiling` means that another process compiles while this one goes on interpreted.
    """
    global _compiler
    with _lock:
        if _compiled or _compiler or switch() == "interpreted" or certificates < WORTH_LOADING:
            return mode()
        folder = cache_folder()
        if folder and (folder / "complete").exists():
            _load(folder)
        elif certificates >= WORTH_COMPILING:
            if folder:
                command = [sys.executable, "-m", "dsrs.compiling"]
                _compiler = subprocess.Popen(command, stdin=subprocess.DEVNULL)
            else:
                _load(None)
    return mode()


def affordable_work() -> float:
    """Integrands that may be evaluated before waiting for the compiler is the shorter way."""
    return math.inf if _compiled or switch() != "auto" else WORTH_WAITING


def compile_kernels() -> None:
    """Compile now, or load from the cache; waits until it is done."""
    global _compiler
    with _lock:
        if _compiler is not None:
            _compiler.wait()
            _compiler = None
        if not _compiled:
            _load(cache_folder())


def _look_for_compiled() -> None:
    """Switch over when the other process has filled the cache; forget it if it failed."""
    global _compiler, _next_poll
    if time.monotonic() < _next_poll or not _lock.acquire(blocking=False):
        return
    try:
        _next_poll = time.monotonic() + POLL_SECONDS
        if _compiler is not None and _compiler.poll() is not None:
            folder = cache_folder()
            if _compiler.returncode == 0 and folder and (folder / "complete").exists():
                _load(folder)
            _compiler = None
    finally:
        _lock.release()


def _load(folder: Path | None) -> None:
    """Make the compiled kernels; those of `folder` are loaded when they are first called."""
    import numba

    # Kernels of files that nobody has imported yet are wanted later.
    for file in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"{__package__}.{file.name}")
    spaces: dict[str, dict[str, Any]] = {}
    compiled: dict[Callable[..., Any], Callable[..., Any]] = {}
    # Numba chooses the place of a function's cache when it is decorated.
    settings: Any = numba.config
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(folder or "")
    try:
        for function in _kernels:
            name = function.__module__
            space = spaces.setdefault(name, dict(vars(sys.modules[name])))
            copy = types.FunctionType(function.__code__, space, function.__name__)
            copy.__module__ = name
            compiled[function] = numba.njit(nogil=True, cache=folder is not None)(copy)
    finally:
        settings.CACHE_DIR = before
    for space in spaces.values():
        for name, value in space.items():
            plain = value.function if isinstance(value, Entry) else value
            if isinstance(plain, types.FunctionType) and plain in compiled:
                space[name] = compiled[plain]
    _compiled.update({_kernels[function]: made for function, made in compiled.items()})


@functools.cache
def cache_folder() -> Path | None:
    """Where compiled kernels are kept, by the hash of their source; None if nothing can be."""
    digest = hashlib.sha256(sys.version.encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    import importlib.metadata

    digest.update(importlib.metadata.version("numba").encode())
    given = os.environ.get(CACHE) or os.environ.get("XDG_CACHE_HOME")
    try:
        root = Path(given) if given else Path.home() / ".cache"
        folder = root / "dsrs" / f"kernels-{digest.hexdigest()[:16]}"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):
        return None
