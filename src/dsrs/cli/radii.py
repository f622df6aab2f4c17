"""Lists of radii as the command line writes them."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from dsrs.errors import InvalidInput


def parse_radii(text: str) -> list[float]:
    """Read `0.25,0.5,1` or `0.25:3:0.25` (both ends included)."""
    expected = f"--radii is written 0.25,0.5,1 or START:STOP:STEP, got {text!r}"
    try:
        if ":" not in text:
            return [float(Decimal(part)) for part in text.split(",")]
        start, stop, step = (Decimal(part) for part in text.split(":"))
    except (InvalidOperation, ValueError):
        raise InvalidInput(expected) from None
    if not (step > 0 and stop >= start and (stop - start) / step <= 1000):
        raise InvalidInput(f"{expected}, with STEP > 0, START <= STOP and at most 1000 steps")
    return [float(start + i * step) for i in range(int((stop - start) / step) + 1)]
