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
from collections.abc import Callable
from pathlib import Path
from typing import Any

CACHE = "DSRS_CACHE_DIR"


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


def jitted(function: Callable[..., Any], folder: Path | None, **options: Any) -> Callable[..., Any]:
    """`function` as Numba compiles it when it is first called, or loads it from `folder`."""
    import numba

    # Numba chooses the place of a function's cache when it is decorated.
    settings: Any = numba.config
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(folder or "")
    try:
        made: Callable[..., Any] = numba.njit(nogil=True, cache=folder is not None, **options)(
            function
        )
        return made
    finally:
        settings.CACHE_DIR = before
