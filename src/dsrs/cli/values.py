"""How the command line writes numbers, lists of numbers and choices."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from importlib import import_module

from dsrs.errors import InvalidInput

MOST_DIGITS = 40  # of a whole number with an exponent: 1e999999999 would fill the memory
MOST_INDICES = 10_000_000


def whole_number(text: str) -> int:
    """100000, 100_000 or 1e5 as a whole number."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = Decimal(text)
        if value.is_finite() and value.adjusted() < MOST_DIGITS and value == value.to_integral():
            return int(value)
    except InvalidOperation:
        pass
    raise InvalidInput(f"expected a whole number, such as 1000 or 1e5, got {text!r}")


def number(text: str) -> float:
    """0.5 or 1e-3 as a number."""
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"expected a number, such as 0.5, got {text!r}") from None


def numbers(text: str) -> tuple[float, ...]:
    """0.49,0.48,0.45 as numbers."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(
            f"expected numbers with commas between, such as 0.49,0.48,0.45, got {text!r}"
        ) from None


def whole_numbers(text: str) -> tuple[int, ...]:
    """3,14,15 or 3,10-19 as numbers."""
    listed: list[int] = []
    try:
        for part in text.split(","):
            first, dash, last = part.partition("-")
            if not (dash and first):
                listed.append(whole_number(part))
                continue
            start, stop = whole_number(first), whole_number(last) + 1
            if not start < stop <= start + MOST_INDICES:
                raise InvalidInput("an empty or endless range")
            listed.extend(range(start, stop))
    except InvalidInput:
        raise InvalidInput(
            f"expected whole numbers with commas between, such as 3,14,15 or 0-9,20, got {text!r}"
        ) from None
    return tuple(listed)


def one_of(module: str, name: str) -> Callable[[str], str]:
    """A `type` of an option that accepts the names in `name` of `module`.

    The module is loaded only when the option is given: help must not load what it names.
    """

    def chosen(text: str) -> str:
        known = tuple(getattr(import_module(module), name))
        if text not in known:
            raise InvalidInput(f"expected one of {', '.join(known)}, got {text!r}")
        return text

    return chosen
