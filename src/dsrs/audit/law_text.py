"""Additional laws in the text of plans and tables: which law a text names."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from dsrs.audit.balls import arb, exact
from dsrs.audit.reading import field, number, numbers, only, optional_number, shown
from dsrs.audit.shells import Shells
from dsrs.audit.verdicts import Undecided

PARAMETERS = {"truncated": "percentile", "rescaled": "beta"}
SAME_LAW_TOLERANCE = 1e-9  # laws that differ by rounding are one, as rescaled:0.8x and rescaled:0.4


def law_of_text(text: str, shells: Shells, p_lower: float) -> dict[str, Any]:
    """The law that a text names, as JSON; heuristics name it by the lower bound of P_A."""
    kind, _, value = text.partition(":")
    try:
        if kind == "truncated":
            return _truncated(value, shells, p_lower)
        if kind == "rescaled":
            beta = float(value[:-1]) * float(shells.sigma) if value.endswith("x") else float(value)
            return {"kind": kind, "beta": beta}
        if kind == "weighted":
            return _weighted(value)
    except ValueError:
        raise Undecided(f"the law {shown(text)} cannot be read") from None
    raise Undecided(f"this check does not know the law {shown(text)}")


def _truncated(value: str, shells: Shells, p_lower: float) -> dict[str, Any]:
    if value.endswith("heuristic"):
        share = 1.0 if p_lower == 1 else -0.08 * math.log1p(-p_lower) + 0.2
        if value == "paper-heuristic":
            share = max(share, 0.5)
        elif p_lower < 0.5:
            share = 0.5
    elif value.upper().startswith("T="):
        u = shells.shell_of_length(exact(float(value[2:])) / shells.unit)
        share = float(arb(1) - shells.gamma(u).gamma_upper(shells.m, 1))
    else:
        share = float(value)
    return {"kind": "truncated", "percentile": min(share, 1.0)}


def _weighted(value: str) -> dict[str, Any]:
    law: dict[str, Any] = {"kind": "weighted", "inner": None, "outer": None}
    points = []
    for part in value.split(","):
        name, equals, slope = part.partition("=")
        if equals:
            law[name] = float(slope)
        else:
            knot, _, log = part.partition(":")
            points.append((float(knot), float(log)))
    return law | {
        "knots": [knot for knot, _ in points],
        "log_weights": [log for _, log in points],
    }


def canonical(law: Mapping[str, Any] | None) -> tuple[Any, ...] | None:
    """What makes two laws the same, exactly; None is P."""
    if law is None:
        return None
    kind = field(law, "kind", str)
    if kind in PARAMETERS:
        only(law, ("kind", PARAMETERS[kind]), f"a {kind} law")
        return kind, number(law, PARAMETERS[kind])
    if kind == "weighted":
        only(law, ("kind", "knots", "log_weights", "inner", "outer"), "a weighted law")
        names = ("knots", "log_weights")
        lists = (numbers(field(law, name, list), name, infinite=True) for name in names)
        return kind, *lists, *(optional_number(law, name) for name in ("inner", "outer"))
    return kind, json.dumps(law, sort_keys=True)


def alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two laws are the same but for rounding."""
    first, second = _flat(canonical(one)), _flat(canonical(other))
    return len(first) == len(second) and all(
        a == b
        or (
            isinstance(a, float)
            and isinstance(b, float)
            and math.isclose(a, b, rel_tol=SAME_LAW_TOLERANCE, abs_tol=SAME_LAW_TOLERANCE)
        )
        for a, b in zip(first, second, strict=True)
    )


def _flat(parts: Any) -> list[Any]:
    return [leaf for part in parts for leaf in (_flat(part) if isinstance(part, tuple) else [part])]
