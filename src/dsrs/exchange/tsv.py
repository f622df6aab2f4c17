"""The TSV log of the well-known randomized-smoothing scripts.

    idx  label  predict  radius  correct  time

One line an input, one method a file. `predict` is -1 and `radius` 0 where the method abstained;
`radius` is written so that it reads back as the same number, neither more nor less; `time` is
h:mm:ss with optional decimals, as Python prints a timedelta.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from dsrs.errors import DataError, InvalidInput
from dsrs.exchange.format import Format, first_line
from dsrs.exchange.row import ABSTAINED_CLASS, ResultRow, checked_row, parsed
from dsrs.files import text_of

HEADER = ("idx", "label", "predict", "radius", "correct", "time")
_TIME = re.compile(r"(?:(\d+) days?, )?(\d+):(\d\d):(\d\d(?:\.\d+)?)")


def tsv_text(rows: Iterable[ResultRow]) -> str:
    """The whole log of one method's rows."""
    rows = list(rows)
    methods = list(dict.fromkeys(row.method for row in rows))
    if len(methods) > 1:
        raise InvalidInput(
            f"a TSV log holds one method, and the table has {', '.join(map(str, methods))}; "
            "choose one, or use csv or jsonl"
        )
    return "".join("\t".join(line) + "\n" for line in [HEADER, *map(_cells, rows)])


def _cells(row: ResultRow) -> tuple[str, ...]:
    if row.label is None:
        raise InvalidInput(
            f"the TSV log has a label column, and input {row.index} has no label; "
            "use --format csv or jsonl for a run without labels"
        )
    if row.radius is None:
        raise InvalidInput(f"the TSV log has a radius column, and input {row.index} has none")
    answered = row.proves and row.target is not None
    return (
        str(row.index),
        str(row.label),
        str(row.target if answered else ABSTAINED_CLASS),
        repr(row.radius if answered else 0.0),
        str(int(row.correct)),
        clock(row.seconds or 0.0),
    )


def clock(seconds: float) -> str:
    """Return h:mm:ss.ffffff, with decimals only if there are any."""
    micro = round(seconds * 1e6)
    whole, rest = divmod(micro, 10**6)
    text = f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
    return f"{text}.{rest:06d}" if rest else text


def read_tsv(path: Path, text: str) -> list[ResultRow]:
    """The rows of a TSV log. Intervals are not in this format."""
    lines = text.splitlines()
    if not lines or tuple(lines[0].split("\t")) != HEADER:
        raise DataError(
            f"{path}: expected the header {' '.join(HEADER)} (tabs between), "
            f"got {lines[0] if lines else 'an empty file'!r}"
        )
    return [
        _row(line.split("\t"), f"{path}, line {number}")
        for number, line in enumerate(lines[1:], start=2)
        if line.strip()
    ]


def _row(cells: list[str], where: str) -> ResultRow:
    if len(cells) != len(HEADER):
        raise DataError(f"{where}: expected {len(HEADER)} columns, got {len(cells)}")
    predicted = parsed(cells[2], int, "predict", where)
    answered = predicted != ABSTAINED_CLASS
    label = parsed(cells[1], int, "label", where)
    told = parsed(cells[4], int, "correct", where)
    if told != int(answered and predicted == label):
        raise DataError(
            f"{where}: `correct` is {told}, and label {label} with predict {predicted} make it "
            f"{int(answered and predicted == label)}"
        )
    return checked_row(
        {
            "index": parsed(cells[0], int, "idx", where),
            "label": label,
            "predicted": predicted if answered else None,
            "target": predicted if answered else None,
            "status": "certified" if answered else "abstained",
            "radius": parsed(cells[3], float, "radius", where),
            "seconds": _seconds(cells[5], where),
        },
        where,
    )


def _seconds(text: str, where: str) -> float:
    match = _TIME.fullmatch(text.strip())
    if not match:
        raise DataError(f"{where}: `time` must be like 0:00:17.25, got {text!r}")
    days, hours, minutes, seconds = match.groups()
    return ((int(days or 0) * 24 + int(hours)) * 60 + int(minutes)) * 60 + float(seconds)


FORMAT = Format(
    "tsv",
    ".tsv",
    lambda content: first_line(content).split("\t") == list(HEADER),
    write=lambda rows: tsv_text(rows).encode(),
    read=lambda path, content: read_tsv(path, text_of(content, path)),
    one_method=True,
)
