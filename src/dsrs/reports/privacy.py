"""What of a machine a report keeps to itself: where its files lie."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any


def without_places(value: Any) -> Any:
    """The same settings with the name of a file or folder in place of each absolute path."""
    if isinstance(value, Mapping):
        return {key: without_places(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_places(one) for one in value]
    if not isinstance(value, str):
        return value
    for kind in (PurePosixPath, PureWindowsPath):
        path: PurePath = kind(value)
        if path.is_absolute() or value.startswith("~"):
            return path.name or value
    return value
