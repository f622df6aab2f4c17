"""Certificates of the version before (format 2), in the words of today's.

They had no `format`. What a proof starts from stood beside it: `p`, `additional`, `rival` and
`gradient`; `method` named its kind, `proof` was the list of its steps. A Neyman-Pearson radius of 0
stood for nothing being known of P, and a grid had no origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dsrs.errors import DataError
from dsrs.files.json_records import shown

OF_THE_PROOF = ("method", "p", "additional", "rival", "gradient", "proof")
FORMAT_2_METHODS = ("neyman-pearson", "double-sampling", "leading-class", "first-order")


def converted(old: Any) -> dict[str, Any]:
    """The fields of format 3 from those of format 2."""
    proof = _proof(old)
    grid = old.get("grid")
    new = {name: old[name] for name in old if name not in OF_THE_PROOF}
    return new | {
        "format": 3,
        "np_radius": _field(old, "np_radius") if _knows_p(proof) else None,
        "grid": grid if not isinstance(grid, Mapping) else {"origin": None} | dict(grid),
        "proof": proof,
        "subject": None,
    }


def _proof(old: Any) -> dict[str, Any]:
    method, steps = _field(old, "method"), _field(old, "proof", list)
    p, additional = _field(old, "p", list), _field(old, "additional", list)
    if method not in FORMAT_2_METHODS:
        raise DataError(
            f"`method` must be one of {', '.join(FORMAT_2_METHODS)}, got {shown(method)}"
        )
    if (method == "leading-class") != (old.get("rival") is not None):
        raise DataError("a bound of the other classes belongs to the method leading-class")
    if (method == "first-order") != (old.get("gradient") is not None):
        raise DataError("a bound of the gradient belongs to the method first-order")
    if method == "leading-class":
        if len(additional) > 1:
            raise DataError("a lead is proved from bounds under one law")
        law = _field(additional[0], "law") if additional else None
        ends = _field(additional[0], "q", list) if additional else p
        if additional:
            steps = [_without_p(step) for step in steps]
        lead = {"lower": _first(ends, "p"), "rival": old["rival"], "q": law, "steps": steps}
        return {"kind": "lead"} | lead
    if method == "first-order":
        if additional:
            raise DataError("a first-order proof is for P_A alone")
        step = _first(steps, "proof")
        slab = {"p_lower": _first(p, "p"), "gradient": old["gradient"], "step": step}
        return {"kind": "slab"} | slab
    return {"kind": "dual", "p": p, "additional": additional, "steps": steps}


def _without_p(step: Any) -> dict[str, Any]:
    """A step of a lead under an additional law without the multiplier of P, which is 0."""
    multipliers = _field(step, "multipliers", list)
    if multipliers[:1] != [0]:
        raise DataError("a lead is proved from bounds under one law")
    return {**step, "multipliers": multipliers[1:]}


def _knows_p(proof: Mapping[str, Any]) -> bool:
    """Whether the proof starts from something about P_A."""
    return bool(proof["p"] != [0, 1] if proof["kind"] == "dual" else proof.get("q") is None)


def _field(fields: Any, name: str, kind: type = object) -> Any:
    if not isinstance(fields, Mapping) or name not in fields:
        raise DataError(f"`{name}` is missing")
    if not isinstance(fields[name], kind):
        raise DataError(f"`{name}` must be a {kind.__name__}, got {shown(fields[name])}")
    return fields[name]


def _first(values: list[Any], name: str) -> Any:
    if not values:
        raise DataError(f"`{name}` must not be empty")
    return values[0]
