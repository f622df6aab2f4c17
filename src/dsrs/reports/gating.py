"""The verdicts of a gate: what a run must reach, and whether it does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any
from xml.etree import ElementTree

from dsrs.errors import InvalidInput
from dsrs.files import markdown_name, one_line
from dsrs.measures import (
    SHARE_QUANTITIES,
    Bounded,
    Requirement,
    ceil_text,
    certified_at,
    counted_radii,
    floor_text,
    inputs_needed,
    mean_of,
    robust_share,
    share_of,
)
from dsrs.reports.headers import SHOWN_DIGITS, plan_of, settings_text
from dsrs.reports.reading import as_summary
from dsrs.reports.summary import BASELINE, RunSummary, method_name

# ---- Whether a run reaches what is required of it: the gate of a release or of a CI job
#
# Each requirement is judged by an exact bound at its own confidence, and the gate is passed if all
# of them hold. However many there are, a gate with an unmet requirement is passed with probability
# at most 1 - confidence: the unmet one must pass too.

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Verdict:
    """One requirement, what was found, and whether it holds.

    Attributes:
        requirement: what was asked.
        found: the number of these inputs, and its bounds for the population.
        point: whether these inputs alone were asked for.
        inputs: how many there are.
        needed: about how many would show it, where these are too few; None where that is not so.
    """

    requirement: Requirement
    found: Bounded
    point: bool
    inputs: int
    needed: int | None = None

    @property
    def shown(self) -> Fraction:
        """The number that is compared with the threshold."""
        if self.point:
            return self.found.value
        if self.requirement.from_below:
            return self.found.low
        assert self.found.high is not None  # a requirement from above is refused where it is
        return self.found.high

    @property
    def holds(self) -> bool:
        """Whether the requirement is met."""
        return self.requirement.holds_for(self.shown)

    @property
    def value_text(self) -> str:
        """The number of these inputs, rounded toward less certified."""
        return self._text(self.found.value)

    @property
    def shown_text(self) -> str:
        """The number that was compared, rounded toward less certified."""
        return self._text(self.shown)

    def sentence(self) -> str:
        """What was found, for people."""
        asked = self.requirement
        if asked.quantity == "inputs":
            return f"the run has {self.inputs:,} inputs"
        of_these = f"{self.value_text} on these {self.inputs:,} inputs"
        if self.point:
            return of_these
        side = "at least" if asked.from_below else "at most"
        text = f"{side} {self.shown_text} for the population, {of_these}"
        if self.needed is not None:
            text += f"; about {self.needed:,} inputs like these would show it"
        return text

    def _text(self, value: Fraction) -> str:
        if self.requirement.quantity == "inputs":
            return f"{value}"
        return (floor_text if self.requirement.from_below else ceil_text)(value, SHOWN_DIGITS)


@dataclass(frozen=True, slots=True)
class Gate:
    """The verdicts on one method of a run."""

    run: RunSummary
    method: str
    point: bool
    confidence: float
    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        """Whether all requirements hold."""
        return all(verdict.holds for verdict in self.verdicts)

    def __bool__(self) -> bool:
        return self.passed


def gate(
    run: RunSummary | str | os.PathLike[str],
    require: Sequence[str | Requirement],
    *,
    method: str | None = None,
    point: bool = False,
    confidence: float = CONFIDENCE,
) -> Gate:
    """Judge a run by what is required of it.

    Args:
        run: a run folder, a table, or a run that was certified or read.
        require: such as `accuracy@0.5>=0.60`, `robust_accuracy@0.5>=0.55`, `mean_radius>=0.4`,
            `clean_accuracy>=0.8`, `abstained<=0.1`, `inputs>=500`.
        method: whose certificates count; `np` unless given, or the only method of the run. The best
            of several must not be chosen after the fact: alpha holds for each by itself.
        point: judge the numbers of these inputs, and not what they show of the population.
        confidence: of each bound, one-sided.

    Returns:
        The verdicts; true if all requirements hold.
    """
    seen = as_summary(run)
    if not 0 < confidence < 1:
        raise InvalidInput(f"`confidence` must be in (0, 1), got {confidence!r}")
    if isinstance(require, str) or not isinstance(require, Iterable) or not require:
        raise InvalidInput("`require` must list one requirement or more")
    for each in require:
        if not isinstance(each, str | Requirement):
            raise InvalidInput(f"a requirement is a text, got {type(each).__name__}")
    asked = [
        requirement if isinstance(requirement, Requirement) else Requirement.parse(requirement)
        for requirement in require
    ]
    chosen = _method(seen, method)
    alpha = 1 - confidence
    verdicts = [_verdict(seen, chosen, requirement, point, alpha) for requirement in asked]
    return Gate(seen, chosen, point, confidence, tuple(verdicts))


def _method(run: RunSummary, asked: str | None) -> str:
    if asked is not None and asked not in run.methods:
        raise InvalidInput(
            f"`method` must be one of {', '.join(run.methods)}, those of {run.name}, got {asked!r}"
        )
    if asked is not None:
        return asked
    if BASELINE in run.methods or len(run.methods) == 1:
        return run.methods[0]
    raise InvalidInput(f"name the `method` whose certificates count: {', '.join(run.methods)}")


def _verdict(
    run: RunSummary, method: str, asked: Requirement, point: bool, alpha: float
) -> Verdict:
    measured = _bounded(run, method, asked, alpha)
    verdict = Verdict(asked, measured, point, run.size)
    too_few = (
        not (point or verdict.holds) and asked.from_below and asked.quantity in SHARE_QUANTITIES
    )
    if not too_few:
        return verdict
    off = Fraction(_false(run)) if asked.quantity == "robust_accuracy" else Fraction(0)
    share = measured.value
    return Verdict(
        asked, measured, point, run.size, inputs_needed(share, asked.threshold + off, alpha)
    )


def _bounded(run: RunSummary, method: str, asked: Requirement, alpha: float) -> Bounded:
    if asked.quantity == "inputs":
        return Bounded(*[Fraction(run.size)] * 3)
    if asked.quantity == "abstained":
        return share_of(int(run.has_status(method, "abstained").sum()), run.size, alpha)
    if not run.labelled:
        raise InvalidInput(
            f"{run.name} has no labels, so nobody knows which answers are right; `{asked.text}` "
            "needs a run with labels"
        )
    if asked.quantity == "clean_accuracy":
        if not run.has_clean_accuracy:
            raise InvalidInput(f"{run.name} does not say what was predicted, for `{asked.text}`")
        return share_of(int(run.right().sum()), run.size, alpha)
    proved = run.proved_radii(method)
    if asked.quantity == "mean_radius":
        return mean_of(counted_radii(proved).tolist(), alpha)
    assert asked.radius is not None
    certified = int(certified_at(proved, [float(asked.radius)]).sum())
    if asked.quantity == "robust_accuracy":
        return robust_share(certified, run.size, alpha, _false(run))
    return share_of(certified, run.size, alpha)


def _false(run: RunSummary) -> float:
    """The failure probability of each certificate of a run."""
    alpha = plan_of(run).get("alpha")
    if alpha is None:
        raise InvalidInput(
            f"{run.name} does not say its alpha, which robust accuracy takes off; require "
            "`accuracy`, or give a run folder"
        )
    return float(alpha)


# ---- The verdicts of a gate as Markdown, JSON, JUnit XML and a section of the page

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
