"""The file that `dsrs tune` and `dsrs adapt` write: a law, a method, and what chose them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dsrs.errors import DataError


def read_tuned(file: str) -> dict[str, Any]:
    """What `dsrs tune --output` wrote."""
    try:
        content = json.loads(Path(file).read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{file} cannot be read as a file of `dsrs tune`: {error}") from None
    if not isinstance(content, dict):
        raise DataError(f"{file} is not a file of `dsrs tune`")
    return content
