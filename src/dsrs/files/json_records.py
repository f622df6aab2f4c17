"""JSON of records: any dataclass of numbers, texts, tuples and records, without code of its own.

The fields and their types say everything. A field may have another name in JSON, by
`field(metadata={"json": NAME})`, and a record may be a list of its values instead of an object, by
`AS_LIST`. JSON has no infinity: it is written as the text `inf`. What is read is checked against
the types, and a `DataError` names the place that is wrong.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from dsrs.errors import DataError

T = TypeVar("T")
# How values of types that are no records are read: a function of their JSON.
Readers = Mapping[Any, Callable[[Any], Any]]
TYPE_WORDS = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}


def to_json(value: Any) -> Any:
    """The JSON of a record, or of anything that a record may hold; without loss."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return record_to_json(value) if is_dataclass(value) else value


def record_to_json(record: Any) -> Any:
    """The JSON of a dataclass from its fields alone."""
    described = _fields_of(type(record))  # type: ignore[arg-type]
    values = {name: to_json(getattr(record, own)) for own, name, *_ in described}
    return [*values.values()] if getattr(record, "AS_LIST", False) else values


def from_json(
    kind: type[T], value: Any, readers: Readers | None = None, beside: Iterable[str] = ()
) -> T:
    """The record of type `kind` that `to_json` made `value` from.

    Args:
        kind: a dataclass.
        value: what `json.loads` gave. Fields that have a default may be missing.
        readers: for types that are no records, how their JSON is read.
        beside: entries that are no fields of the record, and are left alone.

    Raises:
        DataError: where an entry is missing, is not of its type, or is not known.
    """
    if isinstance(value, Mapping):
        value = {name: item for name, item in value.items() if name not in beside}
    record: T = _record(kind, value, readers or {}, "")
    return record


def _record(kind: Any, value: Any, readers: Readers, place: str) -> Any:
    described = _fields_of(kind)
    if getattr(kind, "AS_LIST", False):
        if not isinstance(value, list) or len(value) != len(described):
            count = len(described)
            raise DataError(f"{_at(place)} must be a list of {count}, got {shown(value)}")
        value = {name: item for (_, name, *_), item in zip(described, value, strict=True)}
    if not isinstance(value, Mapping):
        raise DataError(f"{_at(place)} must be an object, got {shown(value)}")
    values = {}
    for own, name, hint, needed in described:
        inner = f"{place}.{name}" if place else name
        if name in value:
            values[own] = _read(hint, value[name], readers, inner)
        elif needed:
            raise DataError(f"`{inner}` is missing")
    strange = value.keys() - {name for _, name, *_ in described}
    if strange:
        raise DataError(f"{_at(place)} has no entry {shown(min(strange))}")
    return kind(**values)


def _read(hint: Any, value: Any, readers: Readers, place: str) -> Any:
    """A value of the type `hint`."""
    if hint in TYPE_WORDS:
        return _plain(hint, value, place)
    if hint in readers:
        return readers[hint](value)
    if is_dataclass(hint):
        return _record(hint, value, readers, place)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (kind,) = (part for part in inner if part is not type(None))
        return None if value is None else _read(kind, value, readers, place)
    if origin is Literal:
        if value not in inner:
            raise DataError(f"`{place}` must be one of {', '.join(inner)}, got {shown(value)}")
        return value
    if origin is tuple:
        if not isinstance(value, list):
            raise DataError(f"`{place}` must be a list, got {shown(value)}")
        return tuple(
            _read(inner[0], item, readers, f"{place}[{n}]") for n, item in enumerate(value)
        )
    raise TypeError(f"records have no fields of type {hint}")


def _plain(kind: Any, value: Any, place: str) -> Any:
    if kind is float and value in ("inf", "-inf"):
        return float(value)
    wrong = isinstance(value, bool) and kind is not bool
    if wrong or not isinstance(value, (int, float) if kind is float else kind):
        raise DataError(f"`{place}` must be {TYPE_WORDS[kind]}, got {shown(value)}")
    if kind is not float:
        return value
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise DataError(f"`{place}` must be a finite number, got {shown(value)}")
    return number


@functools.cache
def _fields_of(kind: Any) -> tuple[tuple[str, str, Any, bool], ...]:
    """Name, name in JSON and type of every field, and whether it has no default."""
    hints = get_type_hints(kind)
    return tuple(
        (
            item.name,
            item.metadata.get("json", item.name),
            hints[item.name],
            item.default is MISSING and item.default_factory is MISSING,
        )
        for item in fields(kind)
    )


def _at(place: str) -> str:
    return f"`{place}`" if place else "it"


def shown(value: object) -> str:
    """What came, short enough for a message."""
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python prints
        return f"a huge {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
