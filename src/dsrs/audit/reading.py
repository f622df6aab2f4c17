"""Reading JSON of unknown origin: the type and the range of every field are checked before use.

Whatever does not fit raises NotACertificate with the name of the field.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from dsrs.audit.verdicts import NotACertificate, Undecided

Fields = Mapping[str, Any]
Kind = TypeVar("Kind")

MOST_CHARACTERS = 60  # characters of a value that a message repeats


def shown(value: Any) -> str:
    """A value for a message, cut where it is long; never fails, whatever the value is."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**18:
        return "a whole number of more than 18 digits"
    text = repr(value) if isinstance(value, (str, int, float, bool, type(None))) else None
    if text is None:
        return f"a JSON {'object' if isinstance(value, Mapping) else 'list'}"
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "..."


def field(fields: Any, name: str, kind: type[Kind]) -> Kind:
    """The field `name` of a JSON object, which must have this type."""
    if not isinstance(fields, Mapping):
        raise NotACertificate(f"expected a JSON object with `{name}`, got {shown(fields)}")
    if name not in fields:
        raise NotACertificate(f"`{name}` is missing")
    value = fields[name]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise NotACertificate(f"`{name}` must be of type {kind.__name__}, got {shown(value)}")
    return value


def optional(fields: Any, name: str, kind: type[Kind]) -> Kind | None:
    """The field `name`, or None where it is missing or null."""
    absent = isinstance(fields, Mapping) and fields.get(name) is None
    return None if absent else field(fields, name, kind)


def number(fields: Any, name: str, *, infinite: bool = False) -> float:
    """The number `name`; infinity is the text "inf", allowed only where `infinite` says so."""
    return as_number(field(fields, name, object), name, infinite=infinite)


def optional_number(fields: Any, name: str) -> float | None:
    """The finite number `name`, or None where it is missing or null."""
    return None if optional(fields, name, object) is None else number(fields, name)


def as_number(value: Any, name: str, *, infinite: bool = False) -> float:
    """Return `value` as a float. A whole number that a float cannot hold is refused."""
    if isinstance(value, str) and value in ("inf", "-inf") and infinite:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NotACertificate(f"`{name}` must be a number, got {shown(value)}")
    try:
        real = float(value)
    except OverflowError:
        raise NotACertificate(f"`{name}` is too large a number") from None
    if not math.isfinite(real) or real != value:
        raise NotACertificate(f"`{name}` must be a finite double, got {shown(value)}")
    return real


def whole(fields: Any, name: str, least: int, most: int) -> int:
    """The whole number `name`, from `least` to `most`; 784.0 is one as well."""
    value = number(fields, name) if name in fields and isinstance(fields[name], float) else None
    integer = field(fields, name, int) if value is None else int(value)
    if (value is not None and value != integer) or not least <= integer <= most:
        raise NotACertificate(
            f"`{name}` must be a whole number from {least} to {most}, got {shown(fields[name])}"
        )
    return integer


def numbers(values: Any, name: str, *, infinite: bool = False) -> tuple[float, ...]:
    """Read a list of numbers."""
    if not isinstance(values, list):
        raise NotACertificate(f"`{name}` must be a list of numbers, got {shown(values)}")
    return tuple(as_number(value, name, infinite=infinite) for value in values)


def choice(fields: Any, name: str, allowed: Iterable[str]) -> str:
    """The text `name`; Undecided, by name, where it is none of the `allowed` ones."""
    text = field(fields, name, str)
    if text not in allowed:
        raise Undecided(f"this check does not know the {name} {shown(text)}")
    return text


def only(fields: Fields, names: Iterable[str], where: str) -> None:
    """Undecided, by name, where a JSON object has fields that this check does not know.

    What an unknown field says is not proved by anything here.
    """
    unknown = sorted(set(map(str, fields)) - set(names))
    if unknown:
        listed = ", ".join(name[:MOST_CHARACTERS] for name in unknown[:5])
        raise Undecided(f"this check does not know what {where} means by {listed}")


def text_if_infinite(value: Any) -> Any:
    """A number as JSON has it, in which infinity is a text."""
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def parsed(text: Any) -> Any:
    """The value of a JSON text, in which no object names a field twice."""
    if not isinstance(text, str):
        got = "bytes" if isinstance(text, bytes) else shown(text)
        raise NotACertificate(f"expected a JSON text, got {got}")
    try:
        return json.loads(text, object_pairs_hook=_without_repetition)
    except RecursionError:
        raise NotACertificate("it is nested too deeply") from None
    except ValueError as error:
        raise NotACertificate(f"it is not JSON: {error}") from None


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of an object; readers differ in which of two with one name they take."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise NotACertificate(f"`{name[:MOST_CHARACTERS]}` comes twice")
        fields[name] = value
    return fields
