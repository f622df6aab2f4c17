"""What there is to check in a source: one item for each certificate of a run, a table or a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dsrs.audit.checking import NOT_A_CERTIFICATE, BoundsCheck, check_certificate
from dsrs.audit.limits import PROCESSOR_SECONDS, verdict_within
from dsrs.audit.methods import BoundsFromVotes
from dsrs.audit.reading import parsed, shown
from dsrs.audit.run_folder import RunFolder
from dsrs.audit.table_rows import Row, certificate_of
from dsrs.audit.verdicts import NotACertificate, Unreadable, Verdict


@dataclass(frozen=True, slots=True)
class Item:
    """One certificate of a source.

    name: which one it is.
    read: gives its JSON; raises Refuted or Undecided where it cannot be read.
    bounds: gives the check of its bounds, where the source has votes.
    """

    name: str
    read: Callable[[], Any]
    bounds: Callable[[], BoundsCheck] | None = None

    def check(self, seconds: float = PROCESSOR_SECONDS) -> Verdict:
        """Return the verdict; it is `undecided` after `seconds` processor seconds."""

        def verdict() -> Verdict:
            fields = self.read()
            bounds = None if self.bounds is None else self.bounds()
            if fields is None:
                return Verdict(self.name, "abstained", "the row could not be certified")
            return check_certificate(fields, self.name, bounds, seconds)

        return verdict_within(seconds, self.name, NOT_A_CERTIFICATE, verdict)


def items_of_run(path: Path) -> list[Item]:
    """Every certificate of a run folder, with the votes that its bounds come from."""
    run = RunFolder(path)

    def item(index: Any, method: str) -> Item:
        def bounds() -> BoundsCheck:
            votes = run.votes(index)
            return BoundsFromVotes(run.plan, run.sampled, method, votes, run.model, len(run.keys))

        read = partial(run.certificate, index, method)
        return Item(f"input {index}, {method}", read, bounds)

    return [item(index, method) for index, method in run.keys]


def item_of_row(name: str, row: Row) -> Item:
    """A row of a table."""
    return Item(name, partial(certificate_of, row))


def items_of_json(text: str) -> list[Item]:
    """Every certificate or table row of a JSON text: one value, a list, or one value a line."""
    try:
        whole = parsed(text)
    except NotACertificate:
        return _items_of_lines(text)
    values = whole if isinstance(whole, list) else [whole]
    return [_item_of(f"certificate {number}", value) for number, value in enumerate(values, 1)]


def _items_of_lines(text: str) -> list[Item]:
    items, readable = [], 0
    # Not `splitlines`: a text in JSON may hold characters that end a line for Unicode alone.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            items.append(_item_of(f"line {number}", parsed(line)))
            readable += 1
        except NotACertificate:
            items.append(Item(f"line {number}", partial(parsed, line)))
    if items and not readable:
        raise Unreadable(f"no line of it is JSON; it begins with {shown(text.lstrip()[:60])}")
    return items


def _item_of(name: str, value: Any) -> Item:
    """An item of a parsed value: a row of a table has its law in columns of its own."""
    if isinstance(value, Mapping) and "law" not in value and "p_lower" in value:
        return item_of_row(name, value)
    return Item(name, partial(_object, value))


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise NotACertificate(f"expected a JSON object, got {shown(value)}")
    return value
