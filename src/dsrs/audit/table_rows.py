"""Rows of tables that `dsrs recertify` and `dsrs export` write, as the certificates they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dsrs.audit.balls import precision
from dsrs.audit.claims import SmoothingLaw
from dsrs.audit.law_text import alike, law_of_text
from dsrs.audit.reading import parsed, shown
from dsrs.audit.shells import Shells
from dsrs.audit.verdicts import NotACertificate, Refuted, Undecided

NEEDED = ("d", "k", "sigma", "p_lower", "p_upper", "status", "np_radius")
OTHER_SOLVERS = 1e-4  # of sigma: how precisely the radii of other programs are recorded

Row = Mapping[str, Any]  # from column to cell, as text; empty or None where there is nothing


def certificate_of(row: Row) -> dict[str, Any] | None:
    """The certificate of a row, as JSON of format 3; None where its status is an error.

    `proof` holds the proof as JSON. In tables of format 2 it has [radius, multipliers, bound] of
    each step; in earlier ones a single step has columns of its own.
    """
    if str(row.get("status")).startswith("error"):
        return None
    d, k, sigma, p_lower, p_upper = (_number(row, name) for name in NEEDED[:5])
    law = {"d": d, "k": k, "sigma": sigma, "eta": _number(row, "eta") if row.get("eta") else 2.0}
    radius = _claimed_radius(row, sigma)
    observed = _observed(row, law, p_lower)
    listed = parsed(str(row["proof"])) if row.get("proof") else None
    if isinstance(listed, Mapping):
        proof = dict(listed)
        _demand_same(row, proof, observed)
    else:
        proof = _proof(row, [p_lower, p_upper], observed, _steps(row, radius, listed))
    return {
        "format": 3,
        "law": law,
        "radius": _text_if_infinite(radius),
        "np_radius": _text_if_infinite(_number(row, "np_radius")) if row.get("np_radius") else None,
        "status": str(row.get("status")),
        "grid": _grid(row),
        "uniform": _bound(row, "uniform"),
        "proof": proof,
    }


def _proof(
    row: Row, p: list[float], observed: list[dict[str, Any]], steps: list[dict[str, Any]]
) -> dict[str, Any]:
    """The proof of a row of format 2, whose kind is told by the bounds that it has."""
    rival, gradient = _bound(row, "rival"), _bound(row, "gradient")
    if rival is not None:
        return _lead(p[0], rival, observed, steps)
    if gradient is None:
        return {"kind": "dual", "p": p, "additional": observed, "steps": steps}
    if observed or len(steps) > 1:
        raise Refuted("a proof by a slab is one step, and uses no additional law")
    step = steps[0] if steps else None
    return {"kind": "slab", "p_lower": p[0], "gradient": gradient, "step": step}


def _demand_same(row: Row, proof: Mapping[str, Any], observed: list[dict[str, Any]]) -> None:
    """Raise unless the columns of a row say what its proof starts from."""
    for name, expected in _columns_of(proof).items():
        if row.get(name) and _number(row, name) != expected:
            raise Refuted(f"`{name}` is {row[name]}, and the proof starts from {shown(expected)}")
    laws = [seen.get("law") for seen in proof.get("additional") or [] if isinstance(seen, Mapping)]
    law = proof.get("q") or (laws[0] if laws else None)
    if observed and isinstance(law, Mapping) and not alike(observed[0]["law"], law):
        raise Refuted("`q_law` is not the law of the proof")


def _columns_of(proof: Mapping[str, Any]) -> dict[str, Any]:
    """What a proof says of the bounds in columns; kinds that are not known say nothing."""
    kind = proof.get("kind")
    if kind == "dual":
        ends = [("p", proof.get("p"))]
        ends += [("q", seen.get("q")) for seen in (proof.get("additional") or [])[:1]]
        names = ("lower", "upper")
        return {
            f"{letter}_{name}": end
            for letter, interval in ends
            for name, end in zip(names, interval or [], strict=False)
        }
    if kind == "lead":
        letter = "p" if proof.get("q") is None else "q"
        return {f"{letter}_lower": proof.get("lower"), "rival": proof.get("rival")}
    if kind == "slab":
        return {name: proof.get(name) for name in ("p_lower", "gradient")}
    return {}


def _claimed_radius(row: Row, sigma: float) -> float:
    """`radius`, or `certified_radius` where `recertify` appended it to the given columns."""
    if not row.get("certified_radius"):
        return _number(row, "radius")
    certified = _number(row, "certified_radius")
    given = _number(row, "radius") if row.get("radius") else 0.0
    if given > certified:
        what = f"`radius` is {given!r}, and the proof beside it is for {certified!r}"
        # It may rest on bounds that `recertify` does not use, or come from another program.
        known = any(row.get(name) for name in ("rival", "gradient"))
        if known or given <= certified + OTHER_SOLVERS * sigma:
            raise Undecided(f"{what}; the table holds no proof of `radius`")
        raise Refuted(what)
    return certified


def _bound(row: Row, name: str) -> float | None:
    """A bound beside the intervals, which `recertify` makes no use of."""
    absent = row.get("certified_radius") or not row.get(name)
    return None if absent else _number(row, name)


def _observed(row: Row, law: Mapping[str, float], p_lower: float) -> list[dict[str, Any]]:
    """The additional law of a row with its interval; empty where there is none."""
    text, shape = (str(row.get(name) or "").strip() for name in ("q_law", "q_shape"))
    if not (text or shape):
        return []
    # An empty value says that the second interval was sampled under P itself.
    text = text or (f"{shape}:{row['q_value']}" if row.get("q_value") else "rescaled:1x")
    parameters = SmoothingLaw.read(law)
    with precision():
        shells = Shells(parameters.d, parameters.sigma, parameters.k, parameters.eta)
        named = law_of_text(text, shells, parameters.sigma, p_lower)
    return [{"law": named, "q": [_number(row, "q_lower"), _number(row, "q_upper")]}]


def _lead(
    lower: float, rival: float, observed: list[dict[str, Any]], steps: list[dict[str, Any]]
) -> dict[str, Any]:
    """A lead under P, or under the additional law of the row, whose steps then begin with P's 0."""
    if not observed:
        return {"kind": "lead", "lower": lower, "rival": rival, "q": None, "steps": steps}
    if lower != 0 or any(step["multipliers"][0] != 0 for step in steps):
        raise Refuted("a lead is proved from bounds under one law")
    own = [step | {"multipliers": step["multipliers"][1:]} for step in steps]
    (law,) = observed
    return {"kind": "lead", "lower": law["q"][0], "rival": rival, "q": law["law"], "steps": own}


def _grid(row: Row) -> dict[str, float] | None:
    if not row.get("grid"):
        return None
    # Bounds are taken as they are, whatever they were charged.
    return {"step": _number(row, "grid"), "moved": _number(row, "moved"), "variation": 0.0}


def _steps(row: Row, radius: float, listed: Any) -> list[dict[str, Any]]:
    """The steps of a row of format 2, from its cell `proof` or from columns of their own."""
    if radius == 0:
        return []
    if listed is not None:
        return _named(listed)
    laws = 2 if row.get("q_law") or row.get("q_shape") else 1
    columns = ["lambda_p", "lambda_q"][:laws]
    if not all(row.get(name) for name in (*columns, "dual_bound")):
        raise Undecided("the table keeps no proof of this row")
    multipliers = [_text_if_infinite(_number(row, name)) for name in columns]
    bound = _number(row, "dual_bound")
    return [{"radius": _text_if_infinite(radius), "multipliers": multipliers, "dual_bound": bound}]


def _named(listed: Any) -> list[dict[str, Any]]:
    """Steps from lists [radius, multipliers, bound]."""
    try:
        steps = [
            {"radius": at, "multipliers": multipliers, "dual_bound": bound}
            for at, multipliers, bound in listed
        ]
    except (ValueError, TypeError):
        raise NotACertificate(f"`proof` cannot be read: {shown(listed)}") from None
    if not all(isinstance(step["multipliers"], list) for step in steps):
        raise NotACertificate(f"`proof` cannot be read: {shown(listed)}")
    return steps


def _number(row: Row, name: str) -> float:
    text = row.get(name)
    try:
        value = float(str(text))
    except ValueError:
        raise NotACertificate(f"`{name}` must be a number, got {shown(text)}") from None
    if math.isnan(value):
        raise NotACertificate(f"`{name}` is NaN")
    return value


def _text_if_infinite(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
