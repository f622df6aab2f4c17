"""Rows of tables that `dsrs recertify` and `dsrs export` write, as the certificates they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dsrs.audit.balls import exact, precision
from dsrs.audit.claims import OTHER_NORMS, SmoothingLaw
from dsrs.audit.gaussian import demand_alone
from dsrs.audit.law_text import alike, law_of_text
from dsrs.audit.reading import parsed, shown, text_if_infinite
from dsrs.audit.verdicts import NotACertificate, Refuted, Undecided

NEEDED_COLUMNS = ("d", "k", "sigma", "p_lower", "p_upper", "status", "np_radius")
OPTIONAL_BOUNDS = (
    "q_lower",
    "q_upper",
    "rival",
    "gradient",
)  # columns that only some proofs start from
OTHER_SOLVERS = 1e-4  # of sigma: how precisely the radii of other programs are recorded
LAST_DIGITS = 2.0**-50  # of a number that another program computed in double precision

Row = Mapping[str, Any]  # from column to cell, as text; empty or None where there is nothing


def certificate_of(row: Row) -> dict[str, Any] | None:
    """The certificate of a row, as JSON; None where its status is an error."""
    if str(row.get("status")).startswith("error"):
        # Beside `certified_radius` stands what was given to `recertify`.
        more = () if "certified_radius" in row else ("radius", *OTHER_NORMS)
        names = ("certified_radius", "np_radius", "proof", *more)
        claimed = [name for name in names if _has(row, name)]
        if claimed:
            raise Refuted(f"its status is an error, and `{claimed[0]}` is not empty")
        return None
    _demand_sense(row)
    d, k, sigma, p_lower, p_upper = (_number(row, name) for name in NEEDED_COLUMNS[:5])
    law: dict[str, Any] = {
        "d": d,
        "k": k,
        "sigma": sigma,
        "eta": _number(row, "eta") if _has(row, "eta") else 2.0,
    }
    law |= {"kind": row["norm"]} if _is_in_another_norm(row) else {}
    radius = _claimed_radius(row, sigma)
    observed = _observed(row, law, p_lower)
    listed = parsed(str(row["proof"])) if _has(row, "proof") else None
    if isinstance(listed, Mapping):
        proof = dict(listed)
        _demand_same(row, proof, observed)
        _demand_step(row, proof)
    else:
        if listed is not None:
            raise NotACertificate(f"`proof` cannot be read: {shown(listed)}")
        if radius != 0:
            raise Undecided("the table keeps no proof of this row")
        proof = {"kind": "dual", "p": [p_lower, p_upper], "additional": observed, "steps": []}
    return {
        "format": 3,
        "law": law,
        "radius": text_if_infinite(radius),
        "np_radius": text_if_infinite(_number(row, "np_radius"))
        if _has(row, "np_radius")
        else None,
        "status": str(row.get("status")),
        "grid": _grid(row),
        "proof": proof,
        "subject": _subject(row),
        **{name: text_if_infinite(_number(row, name)) for name in OTHER_NORMS if _has(row, name)},
    }


def _subject(row: Row) -> dict[str, Any] | None:
    """How many votes an exported row says that it has, and its alpha; a table that was given to
    `recertify` may mean others."""
    if "certified_radius" in row or not (_has(row, "n") and _has(row, "alpha")):
        return None
    return {"alpha": _number(row, "alpha"), "n": int(_number(row, "n"))}


def _is_in_another_norm(row: Row) -> bool:
    """Whether the noise of a row, and its radius, are measured in another norm than l2."""
    return _has(row, "norm") and row["norm"] != "l2"


def _demand_same(row: Row, proof: Mapping[str, Any], observed: list[dict[str, Any]]) -> None:
    """Raise unless the columns of a row say what its proof starts from."""
    columns = _columns_of(proof)
    for name, expected in columns.items():
        if _has(row, name) and _number(row, name) != expected:
            raise Refuted(f"`{name}` is {row[name]}, and the proof starts from {shown(expected)}")
    # Beside `certified_radius` stands what was given to `recertify`, which need not use it.
    unused = () if _has(row, "certified_radius") or not columns else OPTIONAL_BOUNDS
    for name in unused:
        if _has(row, name) and name not in columns:
            raise Refuted(f"`{name}` is {shown(row[name])}, and the proof does not start from it")
    seen = _first_observed(proof)
    law = proof.get("q") or seen.get("law")
    if observed and isinstance(law, Mapping) and not alike(observed[0]["law"], law):
        raise Refuted("`q_law` is not the law of the proof")


def _columns_of(proof: Mapping[str, Any]) -> dict[str, Any]:
    """What a proof says of the bounds in columns; kinds that are not known say nothing."""
    kind = proof.get("kind")
    if kind == "dual":
        ends = [("p", proof.get("p")), ("q", _first_observed(proof).get("q"))]
        names = ("lower", "upper")
        return {
            f"{letter}_{name}": end
            for letter, interval in ends
            for name, end in zip(
                names, interval if isinstance(interval, list) else (), strict=False
            )
        }
    if kind == "lead":
        known = {"p_lower": proof.get("lower"), "p_upper": 1, "rival": proof.get("rival")}
        if proof.get("q") is None:
            return known
        under_p = proof.get("p")
        p_lower = under_p[0] if isinstance(under_p, list) and under_p else 0
        return known | {"p_lower": p_lower, "q_lower": proof.get("lower"), "q_upper": 1}
    return {}


def _demand_step(row: Row, proof: Mapping[str, Any]) -> None:
    """Raise unless the columns of the outermost step, which `recertify` adds, are of the proof."""
    steps = proof.get("steps")
    step = steps[0] if isinstance(steps, list) and steps else None
    if not isinstance(step, Mapping) or proof.get("kind") != "dual":
        return
    multipliers = step.get("multipliers")
    said = [step.get("dual_bound"), *(multipliers if isinstance(multipliers, list) else [])]
    for name, expected in zip(("dual_bound", "lambda_p", "lambda_q"), [*said, None], strict=False):
        if not _has(row, name):
            continue
        if expected is None or _number(row, name) != _number({name: expected}, name):
            raise Refuted(f"`{name}` is {shown(row[name])}, and the proof has {shown(expected)}")


def _demand_sense(row: Row) -> None:
    """Raise where a row says what nothing can mean of its votes, on which no proof rests."""
    if _has(row, "alpha") and not 0 < _number(row, "alpha") < 1:
        raise NotACertificate(f"`alpha` must lie in (0, 1), got {shown(row['alpha'])}")
    if _has(row, "n") and not (_number(row, "n") >= 1 and _number(row, "n").is_integer()):
        raise NotACertificate(f"`n` must be a number of votes, got {shown(row['n'])}")


def _first_observed(proof: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first additional law of a proof with its interval; empty where there is none."""
    additional = proof.get("additional")
    first = additional[0] if isinstance(additional, list) and additional else None
    return first if isinstance(first, Mapping) else {}


def _claimed_radius(row: Row, sigma: float) -> float:
    """Read `radius`, or `certified_radius` where `recertify` appended it to the given columns."""
    if not _has(row, "certified_radius"):
        return _number(row, "radius")
    certified = _number(row, "certified_radius")
    given = _number(row, "radius") if _has(row, "radius") else 0.0
    if given > certified:
        what = f"`radius` is {given!r}, and the proof beside it is for {certified!r}"
        if _is_gaussian_alone(row):
            # Sigma times a normal quantile, which needs no proof to be checked.
            with precision():
                ratio = exact(given) * (1 - exact(LAST_DIGITS)) / exact(sigma)
                demand_alone(_number(row, "p_lower"), ratio, f"`radius` = {given!r}")
            return certified
        # It may rest on bounds that `recertify` does not use, or come from another program.
        known = any(_has(row, name) for name in ("rival", "gradient"))
        if known or given <= certified + OTHER_SOLVERS * sigma:
            raise Undecided(f"{what}; the table holds no proof of `radius`")
        raise Refuted(what)
    return certified


def _is_gaussian_alone(row: Row) -> bool:
    """Whether the row is of Gaussian P alone, without a grid: its radius has a closed form."""
    if _is_in_another_norm(row):
        return False
    eta = _number(row, "eta") if _has(row, "eta") else 2.0
    more = ("q_law", "q_shape", "rival", "gradient", "grid")
    return _number(row, "k") == 0 and eta == 2 and not any(_has(row, name) for name in more)


def _observed(row: Row, law: Mapping[str, Any], p_lower: float) -> list[dict[str, Any]]:
    """The additional law of a row with its interval; empty where there is none."""
    text, shape = (str(row.get(name) or "").strip() for name in ("q_law", "q_shape"))
    if not (text or shape):
        return []
    # An empty value says that the second interval was sampled under P itself.
    text = text or (f"{shape}:{row['q_value']}" if _has(row, "q_value") else "rescaled:1x")
    parameters = SmoothingLaw.read(law)
    with precision():
        named = law_of_text(text, parameters.shells(), p_lower)
    return [{"law": named, "q": [_number(row, "q_lower"), _number(row, "q_upper")]}]


def _grid(row: Row) -> dict[str, float] | None:
    if not _has(row, "grid"):
        if _has(row, "moved") and _number(row, "moved") != 0:
            raise Refuted("an input is moved to a grid, and the row has none")
        return None
    # Bounds are taken as they are, whatever they were charged: no more than all of it.
    return {"step": _number(row, "grid"), "moved": _number(row, "moved"), "variation": 1.0}


def _has(row: Row, name: str) -> bool:
    """Whether there is anything in a cell; the number 0 is."""
    return row.get(name) is not None and row[name] != ""


def _number(row: Row, name: str) -> float:
    text = str(row.get(name))
    try:
        # Underscores and digits of other scripts, which Python reads, other programs do not.
        value = float(text) if text.isascii() and "_" not in text else float("no number")
    except ValueError:
        raise NotACertificate(f"`{name}` must be a number, got {shown(text)}") from None
    if math.isnan(value):
        raise NotACertificate(f"`{name}` is NaN")
    return value
