"""Where compiled code is kept: in the user's cache, one folder for each state of its sources.

Numba would keep it beside the sources, which may be read-only, and would not notice when a file
changes whose functions another file calls. Where nothing can be written, nothing is kept: code is
then compiled again in every process that needs it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import sys
import tempfile
import types
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

CACHE = "DSRS_CACHE_DIR"
Function = TypeVar("Function", bound=Callable[..., Any])


@functools.cache
def kernel_folder(*sources: Path) -> Path | None:
    """The folder of the code compiled from these files; None if nothing can be written."""
    digest = hashlib.sha256((sys.version + importlib.metadata.version("numba")).encode())
    for file in sources:
        # Numba takes code for stale when its source has another path or date.
        digest.update(f"{file.resolve()} {file.stat().st_mtime_ns}".encode())
        digest.update(file.read_bytes())
    given = os.environ.get(CACHE) or os.environ.get("XDG_CACHE_HOME")
    try:
        root = Path(given) if given else Path.home() / ".cache"
        folder = root / "dsrs" / f"kernels-{digest.hexdigest()[:16]}"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):
        return None


def jitted(function: Function, folder: Path | None, **options: Any) -> Function:
    """`function` as Numba compiles it when it is first called, or loads it from `folder`.

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
