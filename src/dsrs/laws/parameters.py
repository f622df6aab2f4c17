"""Numbers at the door of a law: whatever came, either a usable float or a clear error."""

from __future__ import annotations

import math
import numbers

from dsrs.errors import InvalidInput


def real_number(name: str, value: object) -> float:
    """Return `value` as a finite float. Refuses truth values, text, NaN, infinity and huge
    integers."""
    if type(value) is float and math.isfinite(value):
        return value  # nearly always; asking for any real number takes ten times as long
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidInput(f"`{name}` must be a number, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInput(f"`{name}` must be a finite number, got {shown(value)}")
    return number


def shown(value: object) -> str:
    """What came, short enough for a message."""
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python prints
        return f"a huge {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
