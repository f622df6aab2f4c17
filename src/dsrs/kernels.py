"""Compiled functions: where their code is kept between two processes, and how many threads run.

Numba would keep compiled code beside its sources, which may be read-only, and would not notice when
a file changes whose functions another file calls. Here it is kept in the user's cache, in one
folder for each state of its sources. Where nothing can be written, nothing is kept: code is then
compiled again in every process that needs it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import shutil
import sys
import tempfile
import time
import types
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

from dsrs.errors import InvalidInput

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

CACHE = "DSRS_CACHE_DIR"
IN_USE_SECONDS = 24 * 3600.0  # since it was last written to, a cache may still be in use
Function = TypeVar("Function", bound=Callable[..., Any])


def cache_home() -> Path:
    """The folder of what this package keeps for itself; RuntimeError where the user has no home."""
    given = os.environ.get(CACHE) or os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "dsrs"


@functools.cache
def kernel_folder(*sources: Path) -> Path | None:
    """The folder of the code compiled from these files; None if nothing can be written.

    Its name says where the files lie and what they hold. Folders of the same files in an earlier
    state are removed when the folder of a new state is made.
    """
    compiler = f"{sys.version} {importlib.metadata.version('numba')}"
    place, state = hashlib.sha256(compiler.encode()), hashlib.sha256()
    for file in sources:
        place.update(f"{file.resolve()} ".encode())
        # Numba takes code for stale when the date of its source is another.
        state.update(f"{file.stat().st_mtime_ns} ".encode() + file.read_bytes())
    try:
        root = cache_home()
        stem = f"kernels-{place.hexdigest()[:12]}"
        folder = root / f"{stem}-{state.hexdigest()[:12]}"
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            for other in root.glob(f"{stem}-*"):
                # A process that still runs may have written a cache of today.
                if other != folder and time.time() - other.stat().st_mtime > IN_USE_SECONDS:
                    shutil.rmtree(other, ignore_errors=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):
        return None


def jitted(function: Function, folder: Path | None, **options: Any) -> Function:
    """Return `function` as Numba compiles it at the first call, or loads it from `folder`.

    Division by 0 gives infinity or NaN, as NumPy's does.
    """
    import numba

    # Numba chooses the place of a function's cache when it is decorated.
    settings: Any = numba.config
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(folder or "")
    try:
        decorated = numba.njit(nogil=True, error_model="numpy", cache=folder is not None, **options)
        return cast(Function, decorated(function))
    finally:
        settings.CACHE_DIR = before


def jitted_together(
    functions: Iterable[Callable[..., Any]],
    entries: Collection[Callable[..., Any]],
    folder: Path | None,
    inlined: Collection[Callable[..., Any]] = (),
) -> dict[Callable[..., Any], Callable[..., Any]]:
    """Plain functions that call each other, compiled: each one and what it became.

    Only `entries` are called from outside, and only they are kept in `folder`: the code of an entry
    holds that of all it calls. What is `inlined` becomes part of its callers. The plain functions
    stay as they are: the compiled ones live in copies of their modules' names.
    """
    spaces: dict[str, dict[str, Any]] = {}
    made: dict[Callable[..., Any], Callable[..., Any]] = {}
    for function in functions:
        module = function.__module__
        space = spaces.setdefault(module, dict(vars(sys.modules[module])))
        copy = types.FunctionType(cast(Any, function).__code__, space, function.__name__)
        copy.__module__ = module
        if function in entries:
            made[function] = jitted(copy, folder)
        else:
            inline = "always" if function in inlined else "never"
            made[function] = jitted(
                copy, None, inline=inline, no_cpython_wrapper=True, no_cfunc_wrapper=True
            )
    for space in spaces.values():
        for name, value in space.items():
            plain = getattr(value, "function", value)
            if isinstance(plain, types.FunctionType) and plain in made:
                space[name] = made[plain]
    return made


# ---- How many threads to start

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
