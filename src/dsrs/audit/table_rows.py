"""Rows of tables that `dsrs recertify` and `dsrs export` write, as the certificates they are."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from dsrs.audit.balls import precision
from dsrs.audit.findings import Undecided
from dsrs.audit.law_text import law_of_text
from dsrs.audit.shells import Shells
from dsrs.errors import DataError

NEEDED = ("d", "k", "sigma", "p_lower", "p_upper", "status", "np_radius")


def certificate_of(row: Mapping[str, str]) -> dict[str, Any] | None:
    """The JSON of a row's certificate; None where the row has none, since it could not be read.

    `proof` holds [radius, multipliers, bound] of each step, as JSON. Tables of earlier versions
    have one step in columns of its own.
    """
    if row["status"].startswith("error"):
        return None
    d, k, sigma, p_lower, p_upper = (_number(row, name) for name in NEEDED[:5])
    law = {"d": d, "k": k, "sigma": sigma, "eta": _number(row, "eta") if row.get("eta") else 2.0}
    additional = []
    named = _law_text(row)
    if named is not None:
        with precision():
            shells = Shells(int(d), sigma, k, law["eta"])
            found = law_of_text(named, shells, sigma, p_lower)
        additional.append({"law": found, "q": [_number(row, "q_lower"), _number(row, "q_upper")]})
    # `recertify` keeps the columns that it was given, and makes its own of intervals alone.
    again = "certified_radius" in row
    radius = _number(row, "certified_radius" if again else "radius")
    proof = _steps(row, radius, len(additional))
    bounds = {
        name: None if again or not row.get(name) else _number(row, name)
        for name in ("rival", "uniform", "gradient")
    }
    return bounds | {
        "law": law,
        "p": [p_lower, p_upper],
        "additional": additional,
        "radius": _finite(radius),
        "np_radius": _finite(_number(row, "np_radius")),
        "status": row["status"],
        "method": _method(bounds, proof),
        "proof": proof,
        "grid": _grid(row),
    }


def _method(bounds: Mapping[str, float | None], proof: list[dict[str, Any]]) -> str:
    """What made the certificate, from what it has."""
    if bounds["rival"] is not None:
        return "leading-class"
    if bounds["gradient"] is not None:
        return "first-order"
    used = any(value for step in proof for value in step["multipliers"][1:])
    return "double-sampling" if used else "neyman-pearson"


def _grid(row: Mapping[str, str]) -> dict[str, float] | None:
    if not row.get("grid"):
        return None
    # Bounds are taken as they are, whatever they were charged.
    return {"step": _number(row, "grid"), "moved": _number(row, "moved"), "variation": 0.0}


def _law_text(row: Mapping[str, str]) -> str | None:
    text, shape = (str(row.get(name) or "").strip() for name in ("q_law", "q_shape"))
    if text or not shape:
        return text or None
    # An empty value says that the second interval was sampled under P itself.
    return f"{shape}:{row['q_value']}" if row.get("q_value") else "rescaled:1x"


def _steps(row: Mapping[str, str], radius: float, laws: int) -> list[dict[str, Any]]:
    if radius == 0:
        return []
    if row.get("proof"):
        try:
            steps = json.loads(row["proof"])
            return [
                {"radius": at, "multipliers": multipliers, "dual_bound": bound}
                for at, multipliers, bound in steps
            ]
        except (ValueError, TypeError):
            raise DataError(f"`proof` cannot be read: {row['proof'][:60]!r}") from None
    columns = ["lambda_p", "lambda_q"][: laws + 1]
    if not all(row.get(name) for name in (*columns, "dual_bound")):
        raise Undecided("the table keeps no proof of this row")
    multipliers = [_finite(_number(row, name)) for name in columns]
    bound = _number(row, "dual_bound")
    return [{"radius": _finite(radius), "multipliers": multipliers, "dual_bound": bound}]


def _number(row: Mapping[str, str], name: str) -> float:
    try:
        found = float(row.get(name) or "")
    except ValueError:
        raise DataError(f"`{name}` must be a number, got {row.get(name)!r}") from None
    if math.isnan(found):
        raise DataError(f"`{name}` is NaN")
    return found


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
