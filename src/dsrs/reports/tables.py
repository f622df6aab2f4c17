"""The tables of a report: runs and comparisons of two as rows, Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from dsrs.confidence import Estimate, Resampling
from dsrs.files import csv_cell, markdown_name, one_line
from dsrs.measures import Exact, ceil_text, floor_text, nearest_number, nearest_text, signed
from dsrs.reports.comparing import Changed, Comparison
from dsrs.reports.headers import different_settings, header_lines
from dsrs.reports.measures import MethodMeasures, RunMeasures
from dsrs.reports.report import Report, caveats
from dsrs.reports.summary import method_name

# ---- The numbers as Markdown, LaTeX (booktabs) and CSV tables: never more than proved

CSV_DIGITS = 6
RADIUS_DIGITS = 3
PERCENT_DIGITS = 1

Quantity = Literal[
    "certified accuracy", "certified at 0", "average radius", "clean accuracy", "abstention"
]
# The columns before the radii. A right prediction is one thing, a certificate for it another.
SUMMARY_HEADS = ("clean: predicted", "clean: certified", "abstained")
AVERAGE_RADIUS_HEAD = "ACR"  # the column behind the radii


@dataclass(frozen=True, slots=True)
class Cell:
    """An estimate as text: the value and its interval.

    `verdict` is +1 for a gain that is surely for the better, -1 for one for the worse, else 0.
    """

    value: str
    low: str
    high: str
    verdict: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the summary: a method on a run, or a gain; `label` says which, for people."""

    run: str
    label: str
    is_gain: bool
    clean: Cell | None
    certified: Cell | None
    abstention: Cell | None
    average_radius: Cell | None
    accuracy: tuple[Cell, ...]

    @property
    def cells(self) -> list[Cell | None]:
        """Those of SUMMARY_HEADS, one for each radius, and the average radius."""
        return [self.clean, self.certified, self.abstention, *self.accuracy, self.average_radius]


def summary_rows(report: Report) -> list[Row]:
    """The lines of the summary table: each run's methods and gains, then the envelopes."""
    rows = [row for measured in report.measures for row in _run_rows(measured)]
    for envelope in report.envelopes:
        title = envelope_title(envelope.family)
        for gain, lines in ((False, envelope.methods), (True, envelope.gains)):
            for method, estimates in lines.items():
                cells = tuple(_percent_cell(estimate, gain) for estimate in estimates)
                label = _label(method, gain)
                rows.append(Row(title, label, gain, None, None, None, None, cells))
    return rows


def envelope_title(family: str) -> str:
    """How an envelope is called in the run column."""
    return f"{family}: best sigma at each radius" if family else "best sigma at each radius"


def markdown_table(report: Report) -> str:
    """Return a Markdown table in percent, with the interval behind each number.

    Args:
        report: what `make_report` returned.
    """
    note = interval_note(report.resampling)
    lines = [
        f"Certified accuracy in percent at l2 radius r, {note}.",
        *(f"{markdown_name(line)}." for line in header_lines(report.runs)),
        *map(markdown_name, caveats(report)),
        "",
        *markdown_rows(summary_rows(report), report.radii),
    ]
    return "\n".join(lines) + "\n"


def column_heads(radii: Iterable[str]) -> list[str]:
    """The heads of the cells of a row, with these texts for the radii."""
    return [*SUMMARY_HEADS, *radii, AVERAGE_RADIUS_HEAD]


def markdown_rows(rows: Sequence[Row], radii: Sequence[float]) -> list[str]:
    """The lines of a Markdown table."""
    heads = ["run", "certification", *column_heads(f"r = {radius:g}" for radius in radii)]
    lines = [
        _markdown_line(heads),
        _markdown_line(["---", "---", *["---:"] * (len(heads) - 2)]),
    ]
    for row in rows:
        texts = [f"{cell.value} [{cell.low}, {cell.high}]" if cell else "" for cell in row.cells]
        lines.append(_markdown_line([markdown_name(row.run), markdown_name(row.label), *texts]))
    return lines


def latex_table(report: Report) -> str:
    """A booktabs table in percent; a gain whose interval excludes zero is in bold."""
    columns = len(report.radii)
    lines = [
        "% needs \\usepackage{booktabs}",
        f"% certified accuracy in percent; {interval_note(report.resampling)}",
        *(f"% {one_line(line)}" for line in header_lines(report.runs)),
        *(f"% {one_line(caveat)}" for caveat in caveats(report)),
        f"\\begin{{tabular}}{{ll{'r' * (columns + 1)}}}",
        "\\toprule",
        f" & & \\multicolumn{{{columns}}}{{c}}{{Certified accuracy (\\%) at radius $r$}} & \\\\",
        f"\\cmidrule(lr){{3-{columns + 2}}}",
        "Run & Certification & "
        + " & ".join(f"{radius:g}" for radius in report.radii)
        + f" & {AVERAGE_RADIUS_HEAD} \\\\",
    ]
    last_run = None
    for row in summary_rows(report):
        new_run = row.run != last_run
        if new_run:
            lines.append("\\midrule")
        cells = [*row.accuracy, row.average_radius]
        texts = [_latex_cell(cell) if cell else "" for cell in cells]
        name = latex_escape(row.run) if new_run else ""
        lines.append(" & ".join([name, latex_escape(row.label), *texts]) + " \\\\")
        last_run = row.run
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def csv_table(report: Report) -> str:
    """One number a line: run, method, compared with, quantity, radius, value, interval."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["run", "method", "gain", "quantity", "radius", "value", "low", "high"])
    for record in records_of(report):
        text = printer(record["gain"], record["quantity"])
        estimate: Estimate = record["estimate"]
        writer.writerow(
            [
                csv_cell(one_line(record["run"])),
                csv_cell(one_line(record["method"])),
                int(record["gain"]),
                record["quantity"],
                "" if record["radius"] is None else f"{record['radius']:g}",
                *(text(end, CSV_DIGITS) for end in (estimate.value, estimate.low, estimate.high)),
            ]
        )
    return buffer.getvalue()


def interval_note(resampling: Resampling) -> str:
    """What the intervals are, in a line."""
    return (
        f"with {resampling.confidence * 100:g}% bootstrap intervals over the test inputs "
        f"({resampling.resamples} resamples, seed {resampling.seed}; gains are paired by input)"
    )


def latex_escape(text: str) -> str:
    """Text that LaTeX prints as it is."""
    special = {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{mark: "\\" + mark for mark in "&%$#_{}"},
    }
    return "".join(special.get(mark, mark) for mark in one_line(text))


def _label(method: str, gain: bool) -> str:
    name = method_name(method)
    return f"gain of {name}" if gain else name


def _run_rows(measured: RunMeasures) -> list[Row]:
    name, clean = measured.run.name, measured.clean_accuracy
    return [
        row_of(name, _label(line.method, gain), line, None if gain else clean, gain)
        for gain, lines in ((False, measured.methods), (True, measured.gains))
        for line in lines
    ]


def row_of(
    run: str, label: str, line: MethodMeasures, clean: Estimate | None, gain: bool = False
) -> Row:
    """A line of a table: `clean` is the clean accuracy, or the gain in it."""
    return Row(
        run=run,
        label=label,
        is_gain=gain,
        clean=_percent_cell(clean, gain) if clean else None,
        certified=_percent_cell(line.certified_at_zero, gain),
        abstention=_cell(line.abstention, gain, "abstention", 100, PERCENT_DIGITS, better=-1),
        average_radius=_cell(line.average_radius, gain, "average radius", 1, RADIUS_DIGITS),
        accuracy=tuple(_percent_cell(estimate, gain) for estimate in line.certified_accuracy),
    )


def printer(gain: bool, quantity: Quantity) -> Callable[[Exact, int], str]:
    """How numbers are rounded: gains to the nearest, certified ones to less certified."""
    return nearest_text if gain else ceil_text if quantity == "abstention" else floor_text


def _percent_cell(estimate: Estimate, gain: bool = False) -> Cell:
    return _cell(estimate, gain, "certified accuracy", 100, PERCENT_DIGITS)


def _cell(
    estimate: Estimate, gain: bool, quantity: Quantity, unit: int, digits: int, better: int = 1
) -> Cell:
    text = printer(gain, quantity)
    value, low, high = (
        text(Fraction(end) * unit, digits) for end in (estimate.value, estimate.low, estimate.high)
    )
    if not gain:
        return Cell(value, low, high, 0)
    return Cell(signed(value), signed(low), signed(high), better * estimate.sign)


def _markdown_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _latex_cell(cell: Cell) -> str:
    text = f"${cell.value}$" if cell.value[0] in "+-" else cell.value
    return f"\\textbf{{{text}}}" if cell.verdict else text


def quantities_of(
    line: MethodMeasures, radii: Sequence[float]
) -> list[tuple[Quantity, float | None, Estimate]]:
    """Name, radius and estimate of every number of a method."""
    return [
        ("abstention", None, line.abstention),
        ("average radius", None, line.average_radius),
        ("certified at 0", None, line.certified_at_zero),
        *_accuracies(line.certified_accuracy, radii),
    ]


def _accuracies(
    estimates: Sequence[Estimate], radii: Sequence[float]
) -> list[tuple[Quantity, float | None, Estimate]]:
    return [("certified accuracy", *pair) for pair in zip(radii, estimates, strict=True)]


def records_of(report: Report) -> list[dict[str, Any]]:
    """Every number of the tables, one after the other."""
    records: list[dict[str, Any]] = []

    def add(
        run: str, method: str, gain: bool, numbers: list[tuple[Quantity, float | None, Estimate]]
    ) -> None:
        about = {"run": run, "method": method, "gain": gain}
        for quantity, radius, estimate in numbers:
            records.append({**about, "quantity": quantity, "radius": radius, "estimate": estimate})

    for measured in report.measures:
        name = measured.run.name
        if measured.clean_accuracy is not None:
            add(name, "", False, [("clean accuracy", None, measured.clean_accuracy)])
        for gain, lines in ((False, measured.methods), (True, measured.gains)):
            for line in lines:
                add(name, line.method, gain, quantities_of(line, report.radii))
    for envelope in report.envelopes:
        title = envelope_title(envelope.family)
        for gain, best in ((False, envelope.methods), (True, envelope.gains)):
            for method, estimates in best.items():
                add(title, method, gain, _accuracies(estimates, report.radii))
    return records


# ---- A comparison of two runs as rows, Markdown and JSON

LISTED = 12  # indices that people see; JSON has all


def comparison_rows(comparison: Comparison) -> list[Row]:
    """Three lines a method: the old run, the new one, and the gain."""
    old, new = comparison.old, comparison.new
    rows = []
    for gain in comparison.methods:
        name = method_name(gain.method)
        for measured in (old, new):
            (line,) = (line for line in measured.methods if line.method == gain.method)
            rows.append(row_of(measured.run.name, name, line, measured.clean_accuracy))
        title = f"gain of {new.run.name}"
        rows.append(row_of(title, name, gain.gain, comparison.clean, gain=True))
    return rows


def comparison_notes(comparison: Comparison) -> list[str]:
    """What must be known of two runs before their numbers are compared, a sentence each."""
    old, new = comparison.runs
    sizes = " and ".join(f"{size:,}" for size in comparison.sizes)
    notes = [f"{new.name} against {old.name}, over {comparison.size:,} inputs in common"]
    if set(comparison.sizes) != {comparison.size}:
        notes[0] += f" (of {sizes})"
    notes += header_lines(comparison.runs)
    different = different_settings(comparison.runs)
    if different:
        notes.append(f"the runs differ in {', '.join(different)}: a gain may come from that")
    return notes


def changes_text(changed: Changed) -> str | None:
    """`r=0.5: gained 3 (4, 9, 12), lost 1 (7)`; None where nothing changed."""
    parts = [
        f"{word} {len(indices)} ({_indices(indices)})"
        for word, indices in (("gained", changed.gained), ("lost", changed.lost))
        if indices
    ]
    return f"r={changed.radius:g}: {', '.join(parts)}" if parts else None


def ratio_lines(comparison: Comparison) -> list[str]:
    """For each method how many times the old average radius the new one is, where that is known."""
    old, new = comparison.runs
    return [
        f"average radius of {new.name}, {method_name(gain.method)}: "
        f"{_ratio_text(gain.ratio)} that of {old.name}"
        for gain in comparison.methods
        if gain.ratio
    ]


def _ratio_text(ratio: Estimate) -> str:
    value, low, high = (nearest_text(part, 2) for part in (ratio.value, ratio.low, ratio.high))
    return f"{value} times ({low} to {high})"


def changes_lines(comparison: Comparison) -> Iterator[tuple[str, list[str]]]:
    """For each method its name, and at which radii which inputs changed."""
    for gain in comparison.methods:
        texts = [text for changes in gain.changes if (text := changes_text(changes))]
        yield method_name(gain.method), texts or ["no input changed"]


def comparison_markdown(comparison: Comparison) -> str:
    """The comparison as Markdown, for a pull request or the summary of a CI job."""
    note = interval_note(comparison.resampling)
    lines = [
        *(f"{markdown_name(text)}.  " for text in comparison_notes(comparison)),
        f"Certified accuracy in percent at l2 radius r, {note}.",
        "",
        *markdown_rows(comparison_rows(comparison), comparison.radii),
    ]
    for text in ratio_lines(comparison):
        lines += ["", f"{markdown_name(text)}."]
    for name, texts in changes_lines(comparison):
        lines += ["", f"Inputs that changed, {markdown_name(name)}:", ""]
        lines += [f"- {text}" for text in texts]
    return "\n".join(lines) + "\n"


def comparison_fields(comparison: Comparison) -> dict[str, Any]:
    """The comparison for JSON: accuracies are shares, gains have an interval."""
    old, new = comparison.old, comparison.new
    return {
        "old": old.run.name,
        "new": new.run.name,
        "inputs": comparison.size,
        "old_inputs": comparison.sizes[0],
        "new_inputs": comparison.sizes[1],
        "different": different_settings(comparison.runs),
        "gains": list(_gains(comparison)),
        "ratios": [
            {
                "method": gain.method,
                "ratio": nearest_number(gain.ratio.value, CSV_DIGITS),
                "low": nearest_number(gain.ratio.low, CSV_DIGITS),
                "high": nearest_number(gain.ratio.high, CSV_DIGITS),
            }
            for gain in comparison.methods
            if gain.ratio
        ],
        "changes": [
            {
                "method": gain.method,
                "radius": changes.radius,
                "gained": list(changes.gained),
                "lost": list(changes.lost),
            }
            for gain in comparison.methods
            for changes in gain.changes
        ],
    }


def _gains(comparison: Comparison) -> Iterator[dict[str, Any]]:
    old, new = comparison.old, comparison.new
    if comparison.clean and old.clean_accuracy and new.clean_accuracy:
        parts = (old.clean_accuracy, new.clean_accuracy, comparison.clean)
        yield {"method": "", **_gain_fields("clean accuracy", None, *parts)}
    for found in comparison.methods:
        lines = [
            line
            for measured in (old, new)
            for line in measured.methods
            if line.method == found.method
        ]
        quantities = [quantities_of(line, comparison.radii) for line in (*lines, found.gain)]
        for (name, radius, was), (_, _, now), (_, _, gain) in zip(*quantities, strict=True):
            yield {"method": found.method, **_gain_fields(name, radius, was, now, gain)}


def _gain_fields(
    quantity: Quantity, radius: float | None, old: Estimate, new: Estimate, gain: Estimate
) -> dict[str, Any]:
    text = printer(False, quantity)
    return {
        "quantity": quantity,
        "radius": radius,
        "old": float(text(old.value, CSV_DIGITS)),
        "new": float(text(new.value, CSV_DIGITS)),
        "gain": nearest_number(gain.value, CSV_DIGITS),
        "low": nearest_number(gain.low, CSV_DIGITS),
        "high": nearest_number(gain.high, CSV_DIGITS),
        "shown": gain.sign != 0,
    }


def _indices(indices: Sequence[int]) -> str:
    listed = ", ".join(map(str, indices[:LISTED]))
    rest = len(indices) - LISTED
    return f"{listed} and {rest} more" if rest > 0 else listed
