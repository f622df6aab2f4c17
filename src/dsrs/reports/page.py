"""The report as one HTML file that needs no network: template, style, scripts and data in one."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from importlib import resources
from itertools import groupby
from operator import itemgetter
from string import Template
from typing import Any

from dsrs import __version__
from dsrs.measures import ceil_number, floor_number, nearest_number
from dsrs.proofs import AttackedInput
from dsrs.reports.comparing import Comparison
from dsrs.reports.gating import gate_section
from dsrs.reports.headers import (
    SHOWN_DIGITS,
    legend_names,
    radius_label,
    run_notes,
    settings_text,
)
from dsrs.reports.report import Report, caveats
from dsrs.reports.series import UNDEFENDED_TITLE
from dsrs.reports.style import NEUTRAL, looks_of, palette_css
from dsrs.reports.summary import BASELINE, Outcome, RunSummary, method_name
from dsrs.reports.tables import (
    AVERAGE_RADIUS_HEAD,
    SUMMARY_HEADS,
    Cell,
    Row,
    changes_lines,
    comparison_notes,
    comparison_rows,
    interval_note,
    ratio_lines,
    summary_rows,
)

# ---- Tables that need no script: the summary, and the comparison of runs


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


# ---- The page

GENERATOR = "dsrs report"
PAGE_SCRIPTS = ("charts.js", "figures.js", "inputs.js")


def html_page(report: Report, title: str = "Certified robustness", *, images: bool = True) -> str:
    """The whole page. All text of the runs is escaped, and the page may load nothing.

    Args:
        report: what is shown.
        title: of the page.
        images: whether the page holds small pictures of the inputs.
    """
    script = "\n".join(_asset(name) for name in PAGE_SCRIPTS)
    style = palette_css() + _asset("page.css")
    below = parts_below(report)
    parts = {
        "generator": escape(f"{GENERATOR} {__version__}"),
        "script_hash": _content_hash(script),
        "title": escape(title),
        "subtitle": escape(_subtitle(report)),
        "headers": _header_list(report.runs),
        "summary": rows_table(summary_rows(report), report.radii),
        "sections": "\n".join(_section(*part) for part in below),
        "links": "".join(f'<a href="#{name}">{title}</a>' for name, title, _ in below),
        "votes": _votes_table(report),
        "interval_note": escape(interval_note(report.resampling)),
        "caveats": "<br>\n".join(map(escape, caveats(report))),
        "settings": "\n".join(_settings(run) for run in report.runs),
        "data": _json_text(page_data(report, images=images)),
        "style": style,
        "script": script,
    }
    return Template(_asset("page.html")).substitute(parts)


def page_data(report: Report, *, images: bool = True) -> dict[str, Any]:
    """What the scripts draw and list."""
    looks, titles = looks_of(report), legend_names(report.runs)
    return {
        "baseline": BASELINE,
        "radius_label": radius_label(report.runs),
        "methods": {
            method: {"name": method_name(method), "color": color, "dash": looks.pattern(method)}
            for method, color in looks.methods.items()
        },
        "neutral": NEUTRAL,
        "envelopes": list(looks.envelopes.values()),
        "series": asdict(report.series),
        "undefended_title": UNDEFENDED_TITLE,
        "runs": [
            {
                "name": run.name,
                "title": titles[run.name],
                "color": looks.runs[run.name],
                "methods": run.methods,
                "class_names": run.class_names,
                "inputs": _inputs(run, images),
            }
            for run in report.runs
        ],
    }


def _inputs(run: RunSummary, images: bool) -> list[dict[str, Any]]:
    spent = run.spent.by_input if run.spent else [None] * run.size
    return [
        _input_fields(outcome, run.methods, images)
        | {"votes": votes, "attack": _attack_fields(run.attacks.get(outcome.index), images)}
        for outcome, votes in zip(run.outcomes, spent, strict=True)
    ]


def _attack_fields(attack: AttackedInput | None, images: bool) -> dict[str, Any] | None:
    """What the attack on one input found; None where it was not attacked."""
    if attack is None:
        return None
    counterexample = attack.counterexample
    return {
        "distance": None if attack.attacked is None else ceil_number(attack.attacked, SHOWN_DIGITS),
        "ratio": None if attack.ratio is None else floor_number(attack.ratio, SHOWN_DIGITS),
        "shown": None if counterexample is None else counterexample.shown,
        "rival": None if counterexample is None else counterexample.rival,
        "refuted": attack.refuted,
        "pictures": [_data_uri(one) for one in (attack.pictures or ()) if images],
    }


def _input_fields(outcome: Outcome, methods: tuple[str, ...], images: bool) -> dict[str, Any]:
    share = outcome.p_estimate
    return {
        "index": outcome.index,
        "label": outcome.label,
        "predicted": outcome.predicted,
        "p": None if share is None else floor_number(share, SHOWN_DIGITS),
        "methods": {method: _certificate_fields(outcome, method) for method in methods},
        "thumbnail": _data_uri(outcome.thumbnail) if images and outcome.thumbnail else None,
    }


def _certificate_fields(outcome: Outcome, method: str) -> dict[str, Any]:
    answer = outcome.answers.get(method)
    fields: dict[str, Any] = {
        "status": outcome.status(method),
        "radius": floor_number(outcome.radius(method), SHOWN_DIGITS),
        "p": None,
        "q": None,
        "law": answer.law if answer else None,
        "gain": nearest_number(outcome.gain(method), SHOWN_DIGITS),
    }
    for name, interval in (("p", answer.p), ("q", answer.q)) if answer else ():
        if interval is not None:
            ends = (
                floor_number(interval.lower, SHOWN_DIGITS),
                ceil_number(interval.upper, SHOWN_DIGITS),
            )
            fields[name] = list(ends)
    return fields


def _subtitle(report: Report) -> str:
    runs = len(report.runs)
    inputs = len({outcome.index for run in report.runs for outcome in run.outcomes})
    return f"{runs} run{'s' * (runs != 1)}, {inputs} input{'s' * (inputs != 1)}"


def parts_below(report: Report) -> list[tuple[str, str, str]]:
    """Name, title and content of the sections that only some reports have."""
    parts = []
    if report.gates:
        parts.append(("requirements", "Requirements", "\n".join(map(gate_section, report.gates))))
    if report.comparisons:
        content = "\n".join(map(comparison_section, report.comparisons))
        parts.append(("comparison", "Comparison", content))
    return parts


def _section(name: str, title: str, content: str) -> str:
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{title}</h2>\n{content}\n</section>\n'
    )


def _header_list(runs: Sequence[RunSummary]) -> str:
    """Sigma, n and alpha of every run: the first thing to know of a number."""
    lines = (
        f"<li><strong>{escape(run.name)}</strong>: {escape(settings_text(run))}</li>"
        for run in runs
    )
    return f'<ul class="runs">{"".join(lines)}</ul>'


def _votes_table(report: Report) -> str:
    """The notes on each run, below the summary."""
    lines = [
        f'<tr><th scope="row">{escape(name)}</th>'
        f"<td>{'<br>'.join(escape(text) for _, text in notes)}</td></tr>"
        for name, notes in groupby(run_notes(report.runs), key=itemgetter(0))
    ]
    return f'<table class="votes">{"".join(lines)}</table>' if lines else ""


def _settings(run: RunSummary) -> str:
    shown = {
        "noise law": run.law.describe() if run.law else None,
        "inputs": run.size,
        "methods": ", ".join(method_name(method) for method in run.methods),
        "seconds": round(sum(outcome.seconds for outcome in run.outcomes), 1),
        "data fingerprint": run.data_fingerprint,
        **dict(flattened(run.settings)),
    }
    lines = "".join(
        f'<tr><th scope="row">{escape(key)}</th><td>{escape(str(value))}</td></tr>'
        for key, value in shown.items()
        if value is not None and value != ""
    )
    return f"<details><summary>{escape(run.name)}</summary><table>{lines}</table></details>"


def flattened(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested settings as `plan.n`, `plan.law.sigma` and so on."""
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flattened(value, name + ".")
        elif isinstance(value, list | tuple):
            yield name, ", ".join(map(str, value))
        else:
            yield name, value


def _json_text(data: Mapping[str, Any]) -> str:
    # "<" must not appear: "</script>" or "<!--" in a name would end the data block.
    text = json.dumps(data, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _data_uri(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def _content_hash(script: str) -> str:
    """The hash by which the page's content security policy admits this script and no other."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def _asset(name: str) -> str:
    return resources.files("dsrs.reports").joinpath("assets", name).read_text(encoding="utf-8")
