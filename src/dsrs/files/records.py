"""Records as JSON, as a line in a terminal, and as a table in a notebook; texts of strangers.

JSON is written of any dataclass of numbers, texts, tuples and records, without code for each. The
fields and their types say everything. A field may have another name in JSON, by
`field(metadata={"json": NAME})`, and a record may be a list of its values instead of an object, by
`AS_LIST`. JSON has no infinity: it is written as the text `inf`. What is read is checked against
the types, and a `DataError` names the place that is wrong.
"""

from __future__ import annotations

import functools
import math
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from html import escape
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


# ---- Names that come from outside (files, runs, models) as text that cannot act where it is shown
#
# A file may be called `<script>`, `=cmd|...` or hold bytes that move a terminal's cursor.

# Control characters but tab and newline, marks that turn the direction of writing, and bytes of
# file names that are not UTF-8.
ACTIVE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
# What a spreadsheet takes for a formula, at the start; after apostrophes `csv_cell` has been there.
FORMULA = re.compile(r"'*[=+\-@\t\r]")
MARKDOWN = str.maketrans({"<": "&lt;", ">": "&gt;", **{mark: "\\" + mark for mark in "\\`*[]|"}})
ENTITY = re.compile(r"&(?=[#\w])")


def printable(text: str) -> str:
    """Return `text` with its control characters written out: \\x1b for an escape."""
    return ACTIVE.sub(lambda match: repr(match[0])[1:-1], text)


def one_line(text: str) -> str:
    """Printable, and without newlines and tabs."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def csv_cell(text: str) -> str:
    """Return a text as a cell that spreadsheets do not compute: with an apostrophe before it."""
    return f"'{text}" if FORMULA.match(text) else text


def text_of_cell(cell: str) -> str:
    """Return the text that `csv_cell` was given."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def markdown_name(text: str) -> str:
    """A name that Markdown shows as it is."""
    return ENTITY.sub("&amp;", one_line(text)).translate(MARKDOWN)


# ---- What records show of themselves: a line in a terminal, a small table in a notebook
#
# They show what a person wants to know first, and never pixels, histograms or proofs.


class Readable:
    """A record that says what it is by its `facts`; a dataclass of it needs `repr=False`."""

    __slots__ = ()

    def facts(self) -> Mapping[str, object]:
        """What to show, by name, the most important first; a value that is None is left out."""
        raise NotImplementedError

    def __repr__(self) -> str:
        told = (f"{name}: {text}" for name, text in _texts(self.facts()))
        return f"{type(self).__name__}({', '.join(told)})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(text)}</td></tr>"
            for name, text in _texts(self.facts())
        )
        return f"<table><caption>{escape(type(self).__name__)}</caption>{rows}</table>"


def _texts(facts: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(name, one_line(str(value))) for name, value in facts.items() if value is not None]
