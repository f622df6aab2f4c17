"""The verdicts of a gate as Markdown, JSON, JUnit XML and a section of the page."""

from __future__ import annotations

from html import escape
from typing import Any
from xml.etree import ElementTree

from dsrs.files import markdown_name, one_line
from dsrs.reports.gating import Gate, Verdict
from dsrs.reports.headers import settings_text
from dsrs.reports.summary import method_name

SUITE = "dsrs gate"


def basis_text(gate: Gate) -> str:
    """What the verdicts rest on, in a line."""
    what = (
        "judged on these inputs alone"
        if gate.point
        else f"judged for the population, each bound with {gate.confidence:.6g} confidence"
    )
    return f"{gate.run.name}, {method_name(gate.method)}: {settings_text(gate.run)}; {what}"


def gate_text(gate: Gate) -> str:
    """The verdicts for a terminal, a line each."""
    lines = [basis_text(gate)]
    lines += [
        f"{'holds' if verdict.holds else 'NOT MET':8}{verdict.requirement.text}: "
        f"{verdict.sentence()}"
        for verdict in gate.verdicts
    ]
    met = sum(verdict.holds for verdict in gate.verdicts)
    lines.append(f"gate {'passed' if gate else 'FAILED'}: {met} of {len(gate.verdicts)} hold")
    return one_line(lines[0]) + "\n" + "\n".join(lines[1:])


def gate_markdown(gate: Gate) -> str:
    """The verdicts as Markdown, for the summary of a CI job."""
    lines = [
        f"**{'Passed' if gate else 'Failed'}.** {markdown_name(basis_text(gate))}.",
        "",
        "| | requirement | found |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| {'holds' if verdict.holds else '**not met**'} | `{verdict.requirement.text}` "
        f"| {verdict.sentence()} |"
        for verdict in gate.verdicts
    ]
    return "\n".join(lines) + "\n"


def gate_fields(gate: Gate) -> dict[str, Any]:
    """The verdicts for JSON."""
    return {
        "run": gate.run.name,
        "method": gate.method,
        "passed": gate.passed,
        "basis": "these inputs" if gate.point else "population",
        "confidence": gate.confidence,
        "inputs": gate.run.size,
        "requirements": [_verdict_fields(verdict) for verdict in gate.verdicts],
    }


def gate_junit(gate: Gate) -> bytes:
    """The verdicts as JUnit XML: one test case a requirement."""
    failed = sum(not verdict.holds for verdict in gate.verdicts)
    counts = {"tests": str(len(gate.verdicts)), "failures": str(failed), "errors": "0"}
    suite = ElementTree.Element("testsuite", {"name": SUITE, **counts, "time": "0"})
    for verdict in gate.verdicts:
        about = {
            "classname": f"dsrs.gate.{one_line(gate.run.name)}",
            "name": verdict.requirement.text,
        }
        case = ElementTree.SubElement(suite, "testcase", {**about, "time": "0"})
        if not verdict.holds:
            failure = {"type": "NotMet", "message": verdict.sentence()}
            ElementTree.SubElement(case, "failure", failure).text = one_line(basis_text(gate))
    ElementTree.indent(suite)
    root = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return bytes(root) + b"\n"


def gate_section(gate: Gate) -> str:
    """The verdicts as a part of the page."""
    rows = "".join(
        f'<tr><td class="{"up" if one.holds else "down"}">{"holds" if one.holds else "not met"}'
        f'</td><th scope="row"><code>{escape(one.requirement.text)}</code></th>'
        f"<td>{escape(one.sentence())}</td></tr>"
        for one in gate.verdicts
    )
    verdict = "Passed" if gate else "Failed"
    return (
        f"<p><strong>{verdict}.</strong> {escape(basis_text(gate))}.</p>\n"
        f'<table class="votes">{rows}</table>'
    )


def _verdict_fields(verdict: Verdict) -> dict[str, Any]:
    asked, measured = verdict.requirement, verdict.found
    return {
        "requirement": asked.text,
        "quantity": asked.quantity,
        "radius": None if asked.radius is None else float(asked.radius),
        "threshold": float(asked.threshold),
        "holds": verdict.holds,
        "value": float(verdict.value_text),
        "shown": float(verdict.shown_text),
        "low": float(measured.low),
        "high": None if measured.high is None else float(measured.high),
        "inputs_needed": verdict.needed,
        "text": verdict.sentence(),
    }
