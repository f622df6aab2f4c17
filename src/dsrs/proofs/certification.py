"""Certificates from bounds of probabilities, one by one and in tables, and their check."""

from __future__ import annotations

import functools
import itertools
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.duality import prepare
from dsrs.errors import DsrsError, InvalidInput
from dsrs.kernels import thread_count
from dsrs.laws import (
    AdditionalLaw,
    GeneralizedGaussian,
    Grid,
    Rescaled,
    additional_law,
    parse_additional_law,
)
from dsrs.proofs.base import CLAIM_ROUNDING, NOTHING_KNOWN, Interval, Observation, Proof
from dsrs.proofs.certificate import STATUSES, Certificate, OnGrid, Status, radius_less
from dsrs.proofs.dual import find_dual
from dsrs.proofs.evaluation import bound_at, constraints_of, neyman_pearson, problem_of

# ---- A search for a proof, and what it claims


def certify(law: GeneralizedGaussian, p: Interval, *additional: Observation) -> Certificate:
    """The largest radius that can be proved from P_A in `p` and Q_A in each observation.

    Without observations this is the Neyman-Pearson certificate. With them it is never smaller, and
    with several never smaller than with any one of them.

    Args:
        law: the smoothing law P.
        p: an interval of the probability of the class under P.
        additional: intervals of its probability under other laws.
    """
    if not isinstance(law, GeneralizedGaussian) or not isinstance(p, Interval):
        given = ", ".join(type(each).__name__ for each in (law, p))
        raise InvalidInput(f"expected a smoothing law and an Interval, got {given}")
    proof, decided, complete = find_dual(law, p, *additional)
    return certificate_of(law, proof, decided=decided, complete=complete)


def certificate_of(
    law: GeneralizedGaussian, proof: Proof, *, decided: bool = True, complete: bool = True
) -> Certificate:
    """The certificate that a proof makes true.

    Args:
        law: the smoothing law P.
        proof: a proof of any kind; where it proves nothing, the certificate is an abstention.
        decided: whether more could not have been proved where nothing is.
        complete: whether no larger radius is known to be possible.
    """
    status: Status = "abstained" if decided else "undecided"
    if proof.reach > 0:
        status = "certified"
    np_radius = None
    if proof.known_of_p != NOTHING_KNOWN:
        np_radius = min(neyman_pearson_radius(law, proof.known_of_p.lower), proof.reach)
    return Certificate(law, status, proof.reach, np_radius, proof, complete=complete)


def neyman_pearson_radius(law: GeneralizedGaussian, p_lower: float) -> float:
    """What a lower bound of P_A proves alone."""
    alone = neyman_pearson(law, p_lower)
    return alone[0].radius if alone else 0.0


def abstention(law: GeneralizedGaussian, *additional: AdditionalLaw) -> Certificate:
    """A certificate that claims nothing, from nothing known under P and these laws."""
    return certify(law, NOTHING_KNOWN, *(Observation(q, NOTHING_KNOWN) for q in additional))


def from_grid_point(certificate: Certificate, note: OnGrid) -> Certificate:
    """The certificate of an input from that of the grid point which stands for it.

    A ball around the grid point holds the ball around the input whose radius is less by their
    distance. Where nothing is left, it is an abstention.
    """
    away = note.moved
    radius = radius_less(certificate.radius, away)
    if radius > 0 or certificate.radius == 0:
        np_radius = certificate.np_radius
        np_radius = None if np_radius is None else radius_less(np_radius, away)
        return replace(certificate, radius=radius, np_radius=np_radius, grid=note)
    laws = (seen.law for seen in certificate.observations)
    return replace(abstention(certificate.law, *laws), grid=note)


# ---- The check, without any search: it evaluates the proof and trusts nothing else

# A Neyman-Pearson radius of another version may be this much smaller, in units of sigma.
VERSION_TOLERANCE = 1e-5


def check(certificate: Certificate) -> bool:
    """Whether everything that the certificate says holds; see `find_flaw`."""
    return find_flaw(certificate) is None


def find_flaw(certificate: Certificate) -> str | None:
    """The first thing that is wrong with a certificate, or None.

    Every number is recomputed: what the proof says, how far it reaches, and the Neyman-Pearson
    radius beside it. A certificate of radius 0 claims nothing about its input.
    """
    proof, grid = certificate.proof, certificate.grid
    flaw = visible_flaw(certificate.status, certificate.radius, proof, certificate.moved)
    if flaw is not None:
        return flaw
    if grid is not None and not (
        0 < grid.step < math.inf and 0 <= grid.moved < math.inf and 0 <= grid.variation <= 1
    ):
        return f"a grid has a step, a distance and a variation in [0, 1], got {grid}"
    if proof is not None:
        flaw = proof.flaw(certificate.law)
        if flaw is not None:
            return flaw
    return _flaw_of_np_radius(certificate)


def visible_flaw(status: str, radius: float, proof: Proof | None, moved: float) -> str | None:
    """What is false of a claim at first sight, whatever its proof is worth: status and reach.

    `moved` is the l2 distance to the grid point that the proof is about.
    """
    if not radius >= 0:
        return f"a radius must be a number that is not negative, got {radius!r}"
    if status not in STATUSES:
        return f"unknown status {status!r}"
    claims = status == "certified" or (status == "short" and radius > 0)
    proved = proof is not None and proof.reach != 0
    if claims != (radius > 0) or claims != proved:
        return f"the status {status} does not fit the radius {radius!r} and its proof"
    if proof is not None and not radius <= radius_less(proof.reach, moved):
        beside = "" if not moved else f" and the distance {moved!r} to the grid"
        return f"the proof begins at {proof.reach!r}, below the radius {radius!r}{beside}"
    return None


def _flaw_of_np_radius(certificate: Certificate) -> str | None:
    """What is wrong with the Neyman-Pearson radius."""
    law, claimed, known = certificate.law, certificate.np_radius, certificate.known_of_p
    if (claimed is None) != (known == NOTHING_KNOWN):
        return f"the Neyman-Pearson radius is {claimed!r}, and P_A is known to be in {known}"
    if claimed is None:
        return None
    if not 0 <= claimed <= certificate.radius:
        return f"the Neyman-Pearson radius {claimed!r} is not from 0 to {certificate.radius!r}"
    exact = radius_less(neyman_pearson_radius(law, known.lower), certificate.moved)
    least = min(exact, certificate.radius) - VERSION_TOLERANCE * law.sigma
    if least <= claimed <= exact * (1 + CLAIM_ROUNDING):
        return None
    # Searches end a little below the optimum, and those of another version may have ended higher:
    # the multiplier of today's decides, at the radius that is claimed.
    alone = neyman_pearson(law, known.lower)
    if alone and least <= claimed < math.inf:
        problem = problem_of(law, constraints_of(law, Interval(known.lower, 1.0), ()))
        beyond = math.nextafter(claimed + certificate.moved, math.inf)
        if bound_at(law, problem, np.array(alone[0].multipliers), beyond) > 0.5:
            return None
    return f"the Neyman-Pearson radius is {exact!r}, not {claimed!r}"


# ---- Whole tables: rows in, rows out, on all cores and in constant memory

REQUIRED_COLUMNS = ("d", "k", "sigma", "p_lower", "p_upper")
OPTIONAL_COLUMNS = (
    "eta",
    "q_law",
    "q_shape",
    "q_value",
    "q_lower",
    "q_upper",
    "grid",
    "moved",
)
RESULT_COLUMNS = (
    "np_radius",
    "certified_radius",
    "lambda_p",
    "lambda_q",
    "dual_bound",
    "status",
    "proof",
)
TEXTS = ("status", "proof")
ROWS_PER_TASK = 32


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """A row's certificate, or the reason why it has none."""

    certificate: Certificate | None
    error: str | None

    def fields(self) -> dict[str, float | str]:
        """The values of RESULT_COLUMNS; empty text where there is no number."""
        certificate = self.certificate
        if certificate is None:
            return {**dict.fromkeys(RESULT_COLUMNS, ""), "status": f"error: {self.error}"}
        step = None if certificate.proof is None else certificate.proof.outermost
        multipliers = () if step is None else step.multipliers
        return {
            "np_radius": "" if certificate.np_radius is None else certificate.np_radius,
            "certified_radius": certificate.radius,
            "lambda_p": multipliers[0] if multipliers else "",
            "lambda_q": multipliers[1] if len(multipliers) > 1 else "",
            "dual_bound": "" if step is None else step.dual_bound,
            "status": certificate.status,
            "proof": "" if certificate.proof is None else certificate.proof.text,
        }


def certify_row(row: Mapping[str, Any]) -> Certificate:
    """The certificate of one table row.

    Columns: d, k, sigma, p_lower, p_upper, optionally eta (2 where empty) and, for double
    sampling, q_lower, q_upper and q_law (such as `rescaled:0.4`); without one the certificate is
    Neyman-Pearson's. Published tables have q_shape and q_value instead of q_law; there an empty
    q_value says that the second interval was sampled under P itself. `grid` and `moved` are the
    step of a grid and the distance of the input from it, which its radius is less by.
    """
    d, k, sigma, p_lower, p_upper = (_number(row, name) for name in REQUIRED_COLUMNS)
    eta = 2.0 if row.get("eta") in (None, "") else _number(row, "eta")
    law = _law(d, sigma, k, eta)
    p = _interval("p", p_lower, p_upper)
    additional = _additional(row, law, p)
    seen = []
    if additional is not None:
        q = _interval("q", _number(row, "q_lower"), _number(row, "q_upper"))
        seen.append(Observation(additional, q))
    certificate = certify(law, p, *seen)
    return certificate if row.get("grid") in (None, "") else _from_grid(certificate, row)


def _from_grid(certificate: Certificate, row: Mapping[str, Any]) -> Certificate:
    """Certify a row whose votes were taken on a grid, and charge it for the grid."""
    grid, moved = Grid(_number(row, "grid")), _number(row, "moved")
    if not 0 <= moved < np.inf:
        raise InvalidInput(f"`moved` must be a distance, got {moved!r}")
    charged = [grid.variation(certificate.law)]
    charged += [grid.variation(seen.law) for seen in certificate.observations]
    return from_grid_point(certificate, OnGrid(grid.step, grid.origin, moved, max(charged)))


@functools.lru_cache(maxsize=64)
def _law(d: float, sigma: float, k: float, eta: float) -> GeneralizedGaussian:
    """The law of a row: most have that of the row before."""
    return GeneralizedGaussian(d, sigma, k, eta)  # type: ignore[arg-type]


def _additional(
    row: Mapping[str, Any], law: GeneralizedGaussian, p: Interval
) -> AdditionalLaw | None:
    """The additional law of a row, or None."""
    text, shape = (str(row.get(name) or "").strip() for name in ("q_law", "q_shape"))
    if text:
        return parse_additional_law(text, law, p.lower)
    if not shape:
        return None
    if row.get("q_value") in (None, ""):
        return Rescaled(law, law.sigma)
    return additional_law(shape, _number(row, "q_value"), law)


def certify_rows(
    rows: Iterable[Mapping[str, Any]], workers: int | None = None
) -> Iterator[RowOutcome]:
    """Certify the rows of a table, and yield their outcomes in order.

    A bad row gives an error and does not stop the others. Rows are read as results are taken, so
    memory does not grow with the table.

    Args:
        rows: mappings with the columns of `dsrs recertify`: d, k, sigma, p_lower, p_upper, and for
            an additional law q_law (or q_shape and q_value), q_lower and q_upper.
        workers: threads; all cores when None.
    """
    workers = thread_count(workers)
    source = iter(rows)
    chunks = iter(lambda: list(itertools.islice(source, ROWS_PER_TASK)), [])
    with ThreadPoolExecutor(workers) as pool:
        pending: deque[Future[list[RowOutcome]]] = deque()
        count = 0
        try:
            for chunk in chunks:
                count += len(chunk)
                prepare(count)
                pending.append(pool.submit(_outcomes, chunk))
                if len(pending) > 2 * workers:
                    yield from pending.popleft().result()
            while pending:
                yield from pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def certify_table(
    columns: Mapping[str, Sequence[Any] | NDArray[Any]], workers: int | None = None
) -> dict[str, NDArray[Any]]:
    """Certify a table that is given as columns.

    Args:
        columns: a mapping of arrays such as a data frame, with the columns of `certify_rows`.
        workers: threads; all cores when None.

    Returns:
        RESULT_COLUMNS as arrays: floats, NaN where a row has no such number, and the texts
        `status` and `proof`.
    """
    names = [name for name in REQUIRED_COLUMNS + OPTIONAL_COLUMNS if name in columns]
    missing = [name for name in REQUIRED_COLUMNS if name not in columns]
    if missing:
        raise InvalidInput(f"the table lacks the column(s) {', '.join(missing)}")
    values = [list(columns[name]) for name in names]
    if len({len(column) for column in values}) > 1:
        raise InvalidInput("the columns of the table differ in length")
    prepare(len(values[0]))
    rows = (dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))
    outcomes = [outcome.fields() for outcome in certify_rows(rows, workers)]
    result: dict[str, NDArray[Any]] = {
        name: np.array([np.nan if row[name] == "" else row[name] for row in outcomes], dtype=float)
        for name in RESULT_COLUMNS
        if name not in TEXTS
    }
    return result | {
        name: np.array([row[name] for row in outcomes], dtype=object) for name in TEXTS
    }


def _outcomes(rows: list[Mapping[str, Any]]) -> list[RowOutcome]:
    outcomes = []
    for row in rows:
        try:
            outcomes.append(RowOutcome(certify_row(row), None))
        except (DsrsError, ArithmeticError, ValueError) as error:
            # Numbers beyond the range of floats may overflow anywhere: one row, not the table.
            ours = isinstance(error, DsrsError)
            text = str(error) if ours else f"cannot be computed from these numbers: {error}"
            outcomes.append(RowOutcome(None, text))
    return outcomes


def _number(row: Mapping[str, Any], name: str) -> float:
    value = row.get(name)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidInput(f"`{name}` must be a number, got {value!r}") from None
    if number != number:
        raise InvalidInput(f"`{name}` must be a number, got NaN")
    return number


def _interval(letter: str, lower: float, upper: float) -> Interval:
    for name, value in ((f"{letter}_lower", lower), (f"{letter}_upper", upper)):
        if not 0 <= value <= 1:
            raise InvalidInput(f"`{name}` must be a probability in [0, 1], got {value!r}")
    if lower > upper:
        raise InvalidInput(
            f"`{letter}_lower` must not exceed `{letter}_upper`, got {lower} > {upper}"
        )
    return Interval(lower, upper)
