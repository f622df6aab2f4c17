"""The tables of the page that need no script: the summary, and the comparison of runs."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from dsrs.reports.comparing import Comparison
from dsrs.reports.comparison_tables import (
    changes_lines,
    comparison_notes,
    comparison_rows,
    ratio_lines,
)
from dsrs.reports.tables import AVERAGE_RADIUS_HEAD, SUMMARY_HEADS, Cell, Row


def rows_table(rows: Sequence[Row], radii: Sequence[float]) -> str:
    """The head and the body of a table with one column for each radius.

    The average radius stands before the radii: where the screen is too small for all of them, the
    table is scrolled to the others.
    """
    heads = ["Run", "Certification", *(text[0].upper() + text[1:] for text in SUMMARY_HEADS)]
    heads.append(AVERAGE_RADIUS_HEAD)
    span = f'<th colspan="{len(heads)}"></th><th colspan="{len(radii)}" scope="colgroup">'
    heads += [f"{radius:g}" for radius in radii]
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    top = f"<tr>{span}Certified accuracy (%) at radius r</th></tr>"
    body = []
    for place, row in enumerate(rows):
        first = place == 0 or rows[place - 1].run != row.run
        body.append(_summary_row(row, _length(rows[place:]) if first else 0))
    return f"<thead>{top}<tr>{head}</tr></thead>\n<tbody>{''.join(body)}</tbody>"


def comparison_section(comparison: Comparison) -> str:
    """Both runs and the gain over their common inputs, and which inputs changed."""
    first, *notes = comparison_notes(comparison)
    changed = "".join(
        f"<details><summary>Inputs that changed: {escape(name)}</summary>"
        f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul></details>"
        for name, texts in changes_lines(comparison)
    )
    ratios = "<br>".join(map(escape, ratio_lines(comparison)))
    return (
        f"<h3>{escape(first)}</h3>\n<p>{'<br>'.join(map(escape, notes))}</p>\n"
        '<div class="scroll" tabindex="0" role="region" aria-label="Comparison">'
        f'<table class="summary">{rows_table(comparison_rows(comparison), comparison.radii)}'
        f"</table></div>\n<p>{ratios}</p>\n{changed}"
    )


def _length(rows: Sequence[Row]) -> int:
    """How many of these rows, from the first on, are of the same run."""
    count = 0
    while count < len(rows) and rows[count].run == rows[0].run:
        count += 1
    return count


def _summary_row(row: Row, span: int) -> str:
    run = f'<th scope="rowgroup" rowspan="{span}">{escape(row.run)}</th>' if span else ""
    kinds = " ".join(["gain"] * row.is_gain + ["first"] * bool(span))
    cells = [row.clean, row.certified, row.abstention, row.average_radius, *row.accuracy]
    return (
        f'<tr class="{kinds}">{run}<th scope="row">{escape(row.label)}</th>'
        + "".join(_summary_cell(cell) for cell in cells)
        + "</tr>\n"
    )


def _summary_cell(cell: Cell | None) -> str:
    if cell is None:
        return "<td></td>"
    side = {1: ' class="up"', -1: ' class="down"'}.get(cell.verdict, "")
    ends = f"{escape(cell.low)}<span> to</span><br>{escape(cell.high)}"
    return f"<td{side}>{escape(cell.value)}<small>{ends}</small></td>"
