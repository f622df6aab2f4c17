"""Certificates of format 2, which carry no `format`, in the fields of format 3."""

from __future__ import annotations

from typing import Any

from dsrs.audit.reading import Fields, field, shown
from dsrs.audit.verdicts import NotACertificate, Refuted, Undecided

OWN = ("p", "additional", "method", "rival", "gradient", "proof", "complete")


def as_format_3(fields: Fields) -> Fields:
    """The certificate with its flat fields gathered into the proof that its `method` names."""
    # What is unknown stays, so that it is found.
    known = {name: value for name, value in fields.items() if name not in OWN}
    proof = _proof(fields)
    return known | {"format": 3, "complete": fields.get("complete", True), "proof": proof}


def _proof(fields: Fields) -> dict[str, Any]:
    method, steps = field(fields, "method", str), field(fields, "proof", list)
    p, additional = field(fields, "p", list), field(fields, "additional", list)
    rival, gradient = fields.get("rival"), fields.get("gradient")
    if (method == "leading-class") != (rival is not None):
        raise Refuted("a bound of the rivals belongs to the method leading-class alone")
    if (method == "first-order") != (gradient is not None):
        raise Refuted("a bound of the gradient belongs to the method first-order alone")
    if method == "leading-class":
        return _lead(p, additional, rival, steps)
    if method == "first-order":
        if additional or len(steps) > 1 or len(p) != 2 or p[1] != 1:
            raise Refuted("a first-order proof is one step from a lower bound of P_A")
        step = steps[0] if steps else None
        return {"kind": "slab", "p_lower": p[0], "gradient": gradient, "step": step}
    if method not in ("neyman-pearson", "double-sampling"):
        raise Undecided(f"this check does not know the method {shown(method)}")
    if method == "neyman-pearson" and any(map(_uses_others, steps)):
        raise Refuted("the method neyman-pearson does not use additional laws")
    return {"kind": "dual", "p": p, "additional": additional, "steps": steps}


def _uses_others(step: Any) -> bool:
    """Whether a step has a multiplier of a law that is not P."""
    return any(field(step, "multipliers", list)[1:])


def _lead(p: list[Any], additional: list[Any], rival: Any, steps: list[Any]) -> dict[str, Any]:
    """Convert a lead under P, or under the only additional law."""
    if len(additional) > 1 or len(p) != 2:
        raise Refuted("a lead is proved from bounds under one law")
    law, interval = None, p
    if additional:
        law, interval = field(additional[0], "law", dict), field(additional[0], "q", list)
        if p != [0, 1]:
            raise Refuted("a lead is proved from bounds under one law")
        steps = [_under_q(step) for step in steps]
    if len(interval) != 2 or interval[1] != 1:
        raise NotACertificate("a lead rests on a lower bound of its class")
    return {"kind": "lead", "lower": interval[0], "rival": rival, "q": law, "steps": steps}


def _under_q(step: Any) -> dict[str, Any]:
    """A step of a lead under Q with the multiplier of Q alone; that of P must be 0."""
    multipliers = field(step, "multipliers", list)
    if len(multipliers) != 2 or multipliers[0] != 0:
        raise Refuted("a lead is proved from bounds under one law")
    return dict(step) | {"multipliers": multipliers[1:]}
