"""The compared tables as text, Markdown, LaTeX, CSV and JSON. Our figures are rounded down.

A figure that ends in `r` is from the radii as they were recorded, because the votes under Q that
they came from were not kept; all others were certified again.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

from dsrs.measures import floor_printed, floor_text, signed
from reproduction.tables import TITLES, Cell, improvement

NOT_COVERED = "-"
RECORDED = "r"
RECORDED_NOTE = "r: from the radii as they were recorded; the votes behind them were not kept"


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells that share a header: one table, or one data set of it where the radii differ."""

    title: str
    head: list[str]
    lines: list[list[str]]


def text_tables(cells: Sequence[Cell]) -> str:
    """Three lines a row: the paper's figures, ours, and the difference; one if not recorded."""
    grids = "\n".join(_text_grid(grid) for grid in _grids(cells))
    note = f"\n{RECORDED_NOTE}\n" if any(cell.source == "recorded" for cell in cells) else ""
    return grids + note + "\n" + summary(cells)


def markdown_tables(cells: Sequence[Cell]) -> str:
    parts = []
    if any(cell.source == "recorded" for cell in cells):
        parts.append(RECORDED_NOTE + "\n")
    for grid in _grids(cells):
        rule = ["---"] * 5 + ["---:"] * (len(grid.head) - 5)
        lines = [_bars(grid.head), _bars(rule), *(_bars(line) for line in grid.lines)]
        parts.append(f"### {grid.title}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def latex_tables(cells: Sequence[Cell]) -> str:
    """Return the tables as LaTeX, with booktabs."""
    parts = ["% needs \\usepackage{booktabs}", f"% {RECORDED_NOTE}"]
    for grid in _grids(cells):
        parts += [
            f"% {grid.title}",
            f"\\begin{{tabular}}{{lllll{'r' * (len(grid.head) - 5)}}}",
            "\\toprule",
            " & ".join(grid.head) + " \\\\",
            "\\midrule",
            *(" & ".join(line) + " \\\\" for line in grid.lines),
            "\\bottomrule",
            "\\end{tabular}",
        ]
    return "\n".join(parts) + "\n"


def csv_table(cells: Sequence[Cell]) -> str:
    """One cell a line; empty where no recorded run covers it."""
    buffer = io.StringIO()
    records = [_record(cell, cells) for cell in cells]
    writer = csv.DictWriter(buffer, [*_RECORD_FIELDS, *_GAIN_FIELDS], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return buffer.getvalue()


def json_document(cells: Sequence[Cell]) -> str:
    return json.dumps([_record(cell, cells) for cell in cells], indent=2, allow_nan=False) + "\n"


PAPER_TABLE_FORMATS: dict[str, Callable[[Sequence[Cell]], str]] = {
    "text": text_tables,
    "markdown": markdown_tables,
    "latex": latex_tables,
    "csv": csv_table,
    "json": json_document,
}


def summary(cells: Sequence[Cell]) -> str:
    """How many cells are equal, above and below at the paper's digits, and every one that differs.

    Where ours is below, the reason is given.
    """
    lines = []
    for table, group in groupby(cells, key=lambda cell: cell.table):
        members = list(group)
        covered = [cell for cell in members if cell.ours is not None]
        above = [cell for cell in covered if (cell.difference or 0) > 0]
        below = [cell for cell in covered if (cell.difference or 0) < 0]
        recorded = sum(cell.source == "recorded" for cell in covered)
        lines.append(
            f"{table}: {len(members)} cells, {len(covered) - recorded} certified again, "
            f"{recorded} as recorded, {len(members) - len(covered)} without a record; "
            f"{len(covered) - len(above) - len(below)} equal the paper's, "
            f"{len(above)} above, {len(below)} below"
        )
        lines += [f"  above: {describe(cell)}" for cell in above]
        lines += [f"  below: {describe(cell)}; {cell.reason}" for cell in below]
        missing = dict.fromkeys(" ".join(_row_of(c)) for c in members if c.ours is None)
        if missing:
            lines.append(f"  not (or not fully) recorded: {'; '.join(missing)}")
    return "\n".join(lines) + "\n"


def describe(cell: Cell) -> str:
    """One cell in words."""
    sigma = "best sigma" if cell.sigma is None else f"sigma {cell.sigma:g}"
    radius = "ACR" if cell.radius is None else f"r = {cell.radius:g}"
    return (
        f"{cell.dataset}, {cell.training}, {sigma}, {cell.certification}, {radius}: "
        f"paper {cell.paper:.{cell.digits}f}, ours {_ours(cell)} ({_difference(cell)})"
    )


def _grids(cells: Sequence[Cell]) -> list[Grid]:
    grids = []
    for (table, _), group in groupby(cells, key=lambda cell: (cell.table, _radii_group(cell))):
        members = list(group)
        rows = [list(row) for _, row in groupby(members, key=_row_of)]
        widest = max(rows, key=len)
        radii = ["ACR" if cell.radius is None else f"{cell.radius:g}" for cell in widest]
        head = ["dataset", "training", "sigma", "certification", "figure", *radii]
        lines = [
            line
            for row in rows
            for line in (*_row_lines(row, len(radii)), *_improvement_lines(row, members))
        ]
        grids.append(Grid(TITLES[table], head, lines))
    return grids


def _radii_group(cell: Cell) -> str:
    # Only the table on the choice of T prints other radii for MNIST than for the rest.
    return cell.dataset if cell.table == "truncation-choice" else ""


def _row_of(cell: Cell) -> tuple[str, str, str, str]:
    return (
        cell.dataset,
        cell.training,
        "best" if cell.sigma is None else f"{cell.sigma:.2f}",
        cell.certification,
    )


def _row_lines(row: list[Cell], width: int) -> list[list[str]]:
    figures = {"paper": [f"{cell.paper:.{cell.digits}f}" for cell in row]}
    if any(cell.ours is not None for cell in row):
        figures["ours"] = [_ours(cell) for cell in row]
        figures["gain"] = [_difference(cell) for cell in row]
    blank = [""] * (width - len(row))
    return [[*_row_of(row[0]), figure, *texts, *blank] for figure, texts in figures.items()]


def _improvement_lines(row: list[Cell], cells: Sequence[Cell]) -> list[list[str]]:
    """The relative improvement of double sampling, under its average radius."""
    found = improvement(row[0], cells)
    if found is None:
        return []
    figures = {"paper": signed(f"{found.paper:.2f}") + "%"}
    if found.ours is not None:
        figures["ours"] = signed(floor_printed(found.ours, 2)) + "%"
    heads = [*_row_of(row[0])[:3], "improvement"]
    return [[*heads, figure, text] for figure, text in figures.items()]


def _ours(cell: Cell) -> str:
    if cell.ours is None:
        return NOT_COVERED
    # The paper rounds its average radii to nearest; one more digit keeps ours comparable.
    text = _floor(cell.ours, cell.digits + (cell.radius is None))
    return text + RECORDED if cell.source == "recorded" else text


def _floor(value: Fraction | float, digits: int) -> str:
    return (
        floor_text(value, digits) if isinstance(value, Fraction) else floor_printed(value, digits)
    )


def _difference(cell: Cell) -> str:
    if cell.difference is None:
        return NOT_COVERED
    return signed(f"{cell.difference:.{cell.digits}f}")


_RECORD_FIELDS = (
    "table",
    "dataset",
    "training",
    "sigma",
    "certification",
    "radius",
    "paper",
    "ours",
    "difference",
    "source",
    "reason",
)


_GAIN_FIELDS = ("paper_improvement_percent", "ours_improvement_percent")  # of average radii


def _record(cell: Cell, cells: Sequence[Cell]) -> dict[str, Any]:
    ours = None if cell.ours is None else float(_floor(cell.ours, cell.digits + 3))
    gain = improvement(cell, cells)
    printed = None if gain is None else round(gain.paper, 2)
    own = None if gain is None or gain.ours is None else float(floor_printed(gain.ours, 4))
    fields = {name: getattr(cell, name) for name in _RECORD_FIELDS}
    return {**fields, "ours": ours, **dict(zip(_GAIN_FIELDS, (printed, own), strict=True))}


def _text_grid(grid: Grid) -> str:
    columns = list(zip(grid.head, *grid.lines, strict=True))
    widths = [max(map(len, column)) for column in columns]

    def line(cells: Sequence[str]) -> str:
        texts = [
            text.ljust(width) if place < 5 else text.rjust(width)
            for place, (text, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(texts).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([grid.title, "", line(grid.head), rule, *map(line, grid.lines)]) + "\n"


def _bars(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
