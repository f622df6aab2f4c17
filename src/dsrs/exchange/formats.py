"""The formats that results are written in and read from, and how one is recognised.

Most are tables of the columns of `ResultRow`, without loss. Another package adds a format with
`register`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dsrs.errors import DataError, InvalidInput, MissingExtra
from dsrs.exchange.row import (
    ABSTAINED_CLASS,
    TABLE_COLUMNS,
    ResultRow,
    checked_row,
    parsed,
    row_from_fields,
    row_from_text,
)
from dsrs.files import csv_cell, csv_table, text_of, text_of_cell, to_json
from dsrs.proofs import REQUIRED_COLUMNS, AttackedInput
from dsrs.store import Run, attacked_inputs

# The rows of one file: its path, for messages, and its content.
Reader = Callable[[Path, bytes], list[ResultRow]]


@dataclass(frozen=True, slots=True)
class Format:
    """A format that results are written in, read from, or both.

    Args:
        name: As `--format` takes it.
        ending: Of its files, such as `.csv`.
        recognises: Whether some content is of this format, and of no other.
        write: The content of a file with these rows; None for a format that is not made of rows.
        read: The rows of a file; None for a format that is only written.
        export: The content of the file that these methods of a run are exported as, where rows
            would not do.
        one_method: Whether a file holds the rows of a single method.
    """

    name: str
    ending: str
    recognises: Callable[[bytes], bool]
    write: Callable[[Iterable[ResultRow]], bytes] | None = None
    read: Reader | None = None
    export: Callable[[Run, tuple[str, ...]], bytes] | None = None
    one_method: bool = False


def first_line(content: bytes) -> str:
    """The first line of a text that is not blank; empty where the content is no text."""
    try:
        lines = text_of(content, "").lstrip().splitlines()
    except DataError:
        return ""
    return lines[0] if lines else ""


# ---- CSV


def csv_text(rows: Iterable[ResultRow]) -> str:
    """Return a header line and a line for each row; floats have all their digits, None is an empty
    cell."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(TABLE_COLUMNS)
    for row in rows:
        writer.writerow([_csv_value(value) for value in asdict(row).values()])
    return sink.getvalue()


def _csv_value(value: object) -> object:
    return csv_cell(value) if isinstance(value, str) else "" if value is None else value


def read_csv(path: Path, text: str) -> list[ResultRow]:
    """The rows of a CSV table with at least the column `index`."""
    table = csv_table(io.StringIO(text, newline=""), str(path))
    return [
        row_from_text(
            {
                name: text_of_cell(cell) if TABLE_COLUMNS.get(name) is str else cell
                for name, cell in row.cells.items()
            },
            f"{path}, line {row.line}",
        )
        for row in table.good_rows(str(path))
    ]


def _is_csv(content: bytes) -> bool:
    columns = set(first_line(content).split(","))
    return "index" in columns or columns.issuperset(REQUIRED_COLUMNS)


CSV = Format(
    "csv",
    ".csv",
    _is_csv,
    write=lambda rows: csv_text(rows).encode(),
    read=lambda path, content: read_csv(path, text_of(content, path)),
)

# ---- JSON lines


def jsonl_text(rows: Iterable[ResultRow]) -> str:
    """One JSON object a line; an infinite radius is the string "inf"."""
    return "".join(json.dumps(to_json(row), allow_nan=False) + "\n" for row in rows)


def read_jsonl(path: Path, text: str) -> list[ResultRow]:
    """The rows of a JSON lines file."""
    rows = []
    # Not by `splitlines`: some of the marks that it breaks at may stand in a text of JSON.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            fields = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{where}: not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise DataError(f"{where}: expected a JSON object, got {type(fields).__name__}")
        rows.append(row_from_fields(fields, where))
    return rows


JSON_LINES = Format(
    "jsonl",
    ".jsonl",
    lambda content: first_line(content).startswith("{"),
    write=lambda rows: jsonl_text(rows).encode(),
    read=lambda path, content: read_jsonl(path, text_of(content, path)),
)

# ---- Parquet, with typed columns

_PARQUET_MAGIC = b"PAR1"


def parquet_bytes(rows: Iterable[ResultRow]) -> bytes:
    """A Parquet file with typed, nullable columns."""
    pa, parquet = _pyarrow()
    kinds = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in TABLE_COLUMNS.items()])
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist([asdict(row) for row in rows], schema=schema), sink)
    return bytes(sink.getvalue())


def read_parquet(path: Path, content: bytes) -> list[ResultRow]:
    """The rows of a Parquet file with at least the column `index`."""
    pa, parquet = _pyarrow()
    try:
        records = parquet.read_table(pa.BufferReader(content)).to_pylist()
    except pa.ArrowInvalid as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}") from None
    return [
        row_from_fields(fields, f"{path}, row {number}") for number, fields in enumerate(records)
    ]


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet") from None
    return pyarrow, parquet


PARQUET = Format(
    "parquet",
    ".parquet",
    lambda content: content.startswith(_PARQUET_MAGIC),
    write=parquet_bytes,
    read=read_parquet,
)

# ---- The TSV log of the well-known randomized-smoothing scripts
#
#     idx  label  predict  radius  correct  time
#
# One line an input, one method a file. `predict` is -1 and `radius` 0 where the method abstained;
# `radius` is written so that it reads back as the same number, neither more nor less; `time` is
# h:mm:ss with optional decimals, as Python prints a timedelta.

TSV_HEADER = ("idx", "label", "predict", "radius", "correct", "time")
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
    return "".join("\t".join(line) + "\n" for line in [TSV_HEADER, *map(_tsv_cells, rows)])


def _tsv_cells(row: ResultRow) -> tuple[str, ...]:
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
    if not lines or tuple(lines[0].split("\t")) != TSV_HEADER:
        raise DataError(
            f"{path}: expected the header {' '.join(TSV_HEADER)} (tabs between), "
            f"got {lines[0] if lines else 'an empty file'!r}"
        )
    return [
        _tsv_row(line.split("\t"), f"{path}, line {number}")
        for number, line in enumerate(lines[1:], start=2)
        if line.strip()
    ]


def _tsv_row(cells: list[str], where: str) -> ResultRow:
    if len(cells) != len(TSV_HEADER):
        raise DataError(f"{where}: expected {len(TSV_HEADER)} columns, got {len(cells)}")
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


TSV = Format(
    "tsv",
    ".tsv",
    lambda content: first_line(content).split("\t") == list(TSV_HEADER),
    write=lambda rows: tsv_text(rows).encode(),
    read=lambda path, content: read_tsv(path, text_of(content, path)),
    one_method=True,
)

# ---- The counterexamples of a run as arrays: a NumPy archive that needs no pickle

ARCHIVE_MAGIC = b"PK\x03\x04"  # an archive of NumPy is a ZIP file
OWN_ARRAYS = (b"perturbation.npy", b"certified.npy", b"rival.npy")


def is_attacks_archive(content: bytes) -> bool:
    """Whether these bytes are such an archive, not any other one."""
    return content.startswith(ARCHIVE_MAGIC) and all(name in content for name in OWN_ARRAYS)


def attacks_archive(attacks: Mapping[int, AttackedInput]) -> bytes:
    """The bytes of an .npz with one row for each input that has a proved counterexample.

    `perturbation` is added to the input in float32; `norm` is its length as it was voted on, in the
    norm `measured_in`, `counts` the votes of each class there, `seed` and `purpose` the name of
    their noise.
    """
    proved = [one for one in attacks.values() if one.counterexample is not None]
    if not proved:
        raise DataError("the run has no proved counterexample; attack it with `dsrs attack`")
    columns: dict[str, list[Any]] = {}
    for one in proved:
        point = one.counterexample
        assert point is not None
        row = {
            "index": one.index,
            "target": one.target,
            "rival": point.rival,
            "certified": one.certified,
            "norm": point.norm,
            "measured_in": one.norm,
            "counts": point.counts,
            "alpha": point.alpha,
            "shown": point.shown,
            "seed": point.seed,
            "purpose": point.purpose,
            "perturbation": one.perturbation,
        }
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    sink = io.BytesIO()
    arrays: dict[str, Any] = {name: np.array(values) for name, values in columns.items()}
    np.savez_compressed(sink, **arrays)
    return sink.getvalue()


ATTACKS = Format(
    "attacks",
    ".npz",
    is_attacks_archive,
    export=lambda run, methods: attacks_archive(attacked_inputs(run)),
)

# ---- The formats by name

# ---- Proof files


def _proof_of(run: Run, names: tuple[str, ...]) -> bytes:
    from dsrs.evidence import evidence_of_run

    return evidence_of_run(run, names).text().encode()


def _is_proof(content: bytes) -> bool:
    return content.startswith(b'{"format": "dsrs-proof-')


PROOF = Format("proof", ".proof", _is_proof, export=_proof_of)

FORMATS: dict[str, Format] = {
    form.name: form for form in (CSV, JSON_LINES, PARQUET, TSV, ATTACKS, PROOF)
}


def register(form: Format) -> None:
    """Make a format known to every command.

    Args:
        form: The format; its name must be new.
    """
    if FORMATS.setdefault(form.name, form) is not form:
        raise InvalidInput(f"there is a format {form.name!r} already")


def format_named(name: str) -> Format:
    """The format of this name."""
    if name not in FORMATS:
        raise InvalidInput(f"`format` must be one of {', '.join(FORMATS)}, got {name!r}")
    return FORMATS[name]


def format_of(path: Path, *, tables: bool = True) -> str | None:
    """The format of a file with this name, or None; .gz behind it means compressed.

    Args:
        path: The file.
        tables: Whether only tables of rows are meant, or every format.
    """
    name = path.name.removesuffix(".gz")
    files = (form for form in FORMATS.values() if form.write or not tables)
    return next((form.name for form in files if name.endswith(form.ending)), None)


def recognised(path: Path, content: bytes) -> Format:
    """The format of this content; DataError when it is none of ours."""
    for form in FORMATS.values():
        if form.recognises(content):
            return form
    line = first_line(content)
    got = repr(line[:60]) if line else "bytes that are no text" if content.strip() else "nothing"
    raise DataError(
        f"{path}: the format is not known; expected one of {', '.join(FORMATS)} (a table has a "
        f"column `index`, a TSV log the header idx label predict ...), got {got}"
    )
