"""What proof files are made from: runs with their votes, certificates and tables, sets, attacks."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dsrs import __version__
from dsrs.errors import DataError, DsrsError, InvalidInput, MissingExtra
from dsrs.evidence.writing import FORMAT, Inputs, Line, noise_line, row_of_given, row_of_votes
from dsrs.files import open_csv
from dsrs.laws import GeneralizedGaussian, parse_additional_law
from dsrs.methods import methods_of
from dsrs.proofs import (
    CERTIFICATE_FORMAT,
    OTHER_NORMS,
    AttackedInput,
    Candidate,
    Certificate,
    Subject,
)
from dsrs.store import Run, attack_settings, attacked_inputs

PARQUET_MAGIC = b"PAR1"
NEEDED_COLUMNS = ("d", "k", "sigma", "p_lower", "p_upper", "status", "np_radius")
PLAN = "plan"
# What reading nonsense of a stranger ends in; it is not proved, and the rest is checked.
NONSENSE = (
    *(DsrsError, ArithmeticError, AssertionError, AttributeError, LookupError),
    *(RecursionError, TypeError, ValueError),
)


@dataclass
class Evidence:
    """What a proof file says, and how much there was that claims nothing.

    Args:
        about: where it is from.
        lines: of the file, behind its head.
        subjects: the radius and the subject of each certificate, by the name that the checker uses.
        abstained: how many certificates claim nothing.
        from_votes: whether bounds rest on votes that stand in the file.
    """

    about: Line
    lines: list[Line] = field(default_factory=list)
    subjects: dict[str, tuple[float, Subject | None]] = field(default_factory=dict)
    abstained: int = 0
    from_votes: bool = False

    def lose(self, name: str, reason: str) -> None:
        """Write down a claim that has no form in proof files."""
        self.lines.append({"unproved": name, "reason": " ".join(reason.split())})

    def text(self) -> str:
        """The proof file."""
        head: Line = {"format": FORMAT, "about": {"writer": f"dsrs {__version__}", **self.about}}
        return "".join(map(_written, (head, *self.lines)))


def _written(line: Line) -> str:
    """A line as it stands in the file; what holds infinite numbers or NaN is not proved."""
    try:
        return json.dumps(line, allow_nan=False) + "\n"
    except ValueError:
        reason = "it holds a number that is not finite"
        if "certificates" in line:
            names = [f"input {line['input']}, {method}" for method in line["certificates"]]
        elif "sets" in line:
            names = [f"sets {line['sets']}"]
        else:
            names = [f"attack on input {line['attack']}, {line['method']}"]
        lost = [{"unproved": name, "reason": reason} for name in names]
        return "".join(json.dumps(each) + "\n" for each in lost)


# ------------------------------------------------------------------------------------------ runs


def evidence_of_run(run: Run, names: Iterable[str] | None = None) -> Evidence:
    """What a run claims, with the votes that it rests on, and its attack where there is one.

    Args:
        run: an open run.
        names: of the methods; all of them where it is None.
    """
    try:
        plan, flaw, about = run.plan, _flaw_of_plan(run), _about(run)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"the config of {run.path} cannot be read: {error!r}") from None
    evidence = Evidence(about, from_votes=True)
    grid, family = plan.known_grid, None
    if plan.family_alpha is not None:
        family = {"alpha": plan.family_alpha, "size": plan.family_size}
    step = None if grid is None else grid.step
    inputs = Inputs(PLAN, plan.law, step, plan.alpha, family, {"methods": list(plan.methods)})
    methods = methods_of(plan)
    attacks = {} if attack_settings(run) is None else attacked_inputs(run)
    asked = set(plan.names if names is None else names)
    for index in run.indices():
        try:
            result = run.result(index)
        except NONSENSE as error:
            for text in plan.methods:
                evidence.lose(f"input {index}, {text}", str(error) or repr(error))
            continue
        rows = {}
        for name, certificate in result.certificates.items():
            if name in plan.names and name not in asked:
                continue
            if not claims_something(certificate):
                evidence.abstained += 1
                continue
            text = methods[name].text if name in methods else name
            try:
                if flaw is not None:
                    raise flaw
                _demand_plan(certificate, plan.law, step, result.sampled.moved)
                planned = methods[name].bounds(result.sampled)
                rows[text] = row_of_votes(certificate, planned, result.sampled)
                said = certificate.radius, certificate.subject
                evidence.subjects[f"input {index}, {text}"] = said
            except NONSENSE as error:
                evidence.lose(f"input {index}, {text}", str(error) or repr(error))
        try:
            if rows:
                inputs.add(index, result.sampled.moved, rows, result.sampled)
        except NONSENSE as error:
            for text in rows:
                evidence.lose(f"input {index}, {text}", str(error))
    evidence.lines += inputs.lines()
    for index, attacked in attacks.items():
        if attacked.counterexample is not None:
            _add_attack(evidence, index, attacked, attacked.counterexample)
    return evidence


def _add_attack(evidence: Evidence, index: int, attacked: AttackedInput, found: Candidate) -> None:
    """Add the point where an attack says that the claim of a certificate ends."""
    distance = found.norm
    if attacked.norm != "l2":
        if attacked.perturbation is None:
            name = f"attack on input {index}, {attacked.method}"
            evidence.lose(name, "it does not say where the point lies")
            return
        # Proof files measure all distances alike, the votes at the point are the same.
        distance = math.hypot(*attacked.perturbation.astype(float).ravel().tolist())
    evidence.lines.append(
        {
            **{"plan": PLAN, "attack": index, "method": attacked.method},
            **{"class": attacked.target, "distance": distance, "rival": found.rival},
            "points": [each.alpha for each in attacked.candidates],
            "point": attacked.nearest,
            **{"counts": list(found.counts), "shows": found.shown, "of": attacked.claim},
        }
    )


def _about(run: Run) -> Line:
    """Where a run is from."""
    plan, model, data = run.plan, run.config.get("model", {}), run.config.get("data", {})
    return {
        "run": run.path.absolute().name,
        "model": str(model.get("fingerprint")),
        "model_name": Path(str(model.get("description"))).name,
        "data": Path(str(data.get("name"))).name,
        "seed": str(plan.seed),
        "seed_public": plan.seed_public,
        "n": plan.n,
    }


def claims_something(certificate: Certificate) -> bool:
    """Whether there is anything to prove: a radius, also the one that P alone proves."""
    alone = certificate.np_radius
    return not (certificate.radius <= 0 and (alone is None or alone <= 0))


def _flaw_of_plan(run: Run) -> InvalidInput | None:
    """Why no certificate of a run holds as its plan says, whatever its votes are.

    Votes were taken under `sampled_plan`; alpha and methods may be chosen again, nothing else. A
    family has a share of alpha for every certificate of the run, for those that claim nothing too.
    """
    plan, sampled = run.plan, run.sampled_plan
    again = {
        name: getattr(plan, name) for name in ("methods", "alpha", "family_alpha", "family_size")
    }
    if sampled.replace(**again) != plan:
        return InvalidInput("its plan differs from the one that votes were taken with")
    count = len(run) * len(plan.methods)
    if plan.family_size is not None and plan.family_size < count:
        return InvalidInput(
            f"its family shares alpha among {plan.family_size} certificates, and the run has "
            f"{count}"
        )
    return None


def _demand_plan(
    certificate: Certificate, law: GeneralizedGaussian, step: float | None, moved: float
) -> None:
    """Raise unless a certificate is about the noise and the grid of its plan."""
    own = None if certificate.grid is None else certificate.grid.step
    if certificate.law != law or own != step or certificate.moved != moved:
        raise InvalidInput("its law, its grid or its distance from the grid is not that of the run")


# -------------------------------------------------------------------------- certificates, tables


@dataclass
class _Given:
    """Certificates whose bounds are taken as given: one plan for each law of noise."""

    evidence: Evidence
    plans: dict[GeneralizedGaussian, Inputs] = field(default_factory=dict)

    def add(self, name: str, certificate: Certificate) -> None:
        """Add what a certificate claims."""
        if not claims_something(certificate):
            self.evidence.abstained += 1
            return
        law = certificate.law
        if not isinstance(law, GeneralizedGaussian):
            raise InvalidInput(f"its noise is no law: {law!r}")
        if law not in self.plans:
            called = f"{PLAN} {len(self.plans) + 1}"
            self.plans[law] = Inputs(called, law, None, None, None, {})
        method = "given" if certificate.subject is None else certificate.subject.method
        try:
            self.plans[law].add(name, certificate.moved, {method: row_of_given(certificate)})
        except NONSENSE as error:
            self.evidence.lose(name, str(error) or repr(error))
            return
        said = certificate.radius, certificate.subject
        self.evidence.subjects[f"input {name}, {method}"] = said

    def finished(self) -> Evidence:
        """Write down all of them."""
        for inputs in self.plans.values():
            self.evidence.lines += inputs.lines()
        return self.evidence


def evidence_of_certificates(named: Iterable[tuple[str, Any]], about: Line) -> Evidence:
    """What certificates, rows of tables and prediction sets claim, their bounds taken as given.

    Args:
        named: names, and certificates or their JSON, rows of tables, or prediction sets in JSON; an
            error stands for what could not be read.
        about: where they are from.
    """
    given = _Given(Evidence(about))
    for name, value in named:
        try:
            if isinstance(value, DsrsError):
                raise value
            if isinstance(value, Mapping) and "kind" in value:
                _add_sets(given.evidence, name, value)
                continue
            certificate = certificate_of(value)
            if certificate is None:
                given.evidence.abstained += 1
            else:
                given.add(name, certificate)
        except NONSENSE as error:
            given.evidence.lose(name, str(error) or repr(error))
    return given.finished()


def certificate_of(value: Any) -> Certificate | None:
    """A certificate, from its JSON or from a row of a table; None for a row with an error."""
    if isinstance(value, Certificate):
        return value
    if not isinstance(value, Mapping):
        raise DataError("expected a certificate: a JSON object")
    if "law" in value or "p_lower" not in value:
        return Certificate.from_dict(value)
    cells = {name: cell for name, cell in value.items() if cell is not None and cell != ""}
    radius = cells.get("certified_radius", cells.get("radius", 0))
    if str(cells.get("status")).startswith("error"):
        claimed = {"certified_radius", "np_radius", "proof"} & set(cells)
        if "certified_radius" not in value:
            claimed |= {"radius", *OTHER_NORMS} & set(cells)
        if claimed:
            raise DataError("its status is an error, and it claims something")
        return None
    d = _number(cells, "d")
    law = {"d": int(d) if d.is_integer() else d, "eta": 2.0}
    law |= {name: _number(cells, name) for name in ("k", "sigma", "eta") if name in cells}
    grid = None
    if "grid" in cells:
        step, moved = _number(cells, "grid"), _number(cells, "moved")
        grid = {"step": step, "origin": 0.0, "moved": moved, "variation": 0.0}
    elif "moved" in cells and _number(cells, "moved") != 0:
        raise DataError("an input is moved to a grid, and the row has none")
    proof = json.loads(str(cells["proof"]), object_pairs_hook=_once) if "proof" in cells else None
    fields = {
        **{"format": CERTIFICATE_FORMAT, "law": law, "status": cells.get("status"), "grid": grid},
        "radius": _json_number(_number({"radius": radius}, "radius")),
        "np_radius": _json_number(_number(cells, "np_radius")) if "np_radius" in cells else None,
        **{"complete": True, "proof": proof, "subject": None},
    }
    certificate = Certificate.from_dict(fields)
    _demand_columns_of(certificate, cells)
    return certificate


def _demand_columns_of(certificate: Certificate, cells: Mapping[str, Any]) -> None:
    """Raise DataError unless the columns of a row say what its proof says.

    Radii beside a `certified_radius` were given to `dsrs recertify`: they may be smaller.
    """
    given = "certified_radius" in cells
    for name in ("radius", *OTHER_NORMS):
        if name in cells:
            said, proved = _number(cells, name), getattr(certificate, name)
            if said > proved or (said < proved and not given):
                raise DataError(f"`{name}` is {cells[name]}, and its proof is of {proved!r}")
    if certificate.proof is None:
        if certificate.radius > 0:
            raise DataError("the table keeps no proof of this row")
        return
    step, proof = certificate.proof.outermost, certificate.proof
    columns = {name: value for name, value in proof.columns().items() if name != "proof"}
    if step is not None and proof.kind == "dual":
        names = ("lambda_p", "lambda_q")
        columns |= dict(zip(names, step.multipliers, strict=False))
        columns["dual_bound"] = step.dual_bound
    named = columns.pop("q_law", None)
    for name, expected in columns.items():
        if name in cells and expected is not None and _number(cells, name) != expected:
            raise DataError(f"`{name}` is {cells[name]}, and the proof starts from {expected!r}")
    if certificate.radius > 0:
        for name in ("q_lower", "q_upper", "rival"):
            if name in cells and columns.get(name) is None and "certified_radius" not in cells:
                raise DataError(f"`{name}` is {cells[name]}, and the proof does not start from it")
    if named is not None and "q_law" in cells:
        law = parse_additional_law(str(cells["q_law"]), certificate.law, _number(cells, "p_lower"))
        if not any(law.resembles(each.law) for each in certificate.observations):
            raise DataError("`q_law` is not the law of the proof")


def _number(cells: Mapping[str, Any], name: str) -> float:
    text = str(cells.get(name))
    try:
        # Underscores and digits of other scripts, which Python reads, other programs do not.
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise DataError(f"`{name}` must be a number, got {text[:60]!r}")
    return value


def _json_number(value: float) -> float | str:
    return "inf" if value == math.inf else value


def _add_sets(evidence: Evidence, name: str, fields: Mapping[str, Any]) -> None:
    """Add what prediction sets promise."""
    from dsrs.conformal import Sets

    sets = Sets.from_dict(fields)
    if "guarantee" in fields and fields["guarantee"] != sets.guarantee:
        raise DataError("what it promises in words is not what its numbers say")
    if len(set(sets.calibration.indices)) < len(sets.calibration.indices):
        raise DataError("its calibration counts an input twice")
    if sets.threshold == math.inf:
        evidence.abstained += 1
        return
    made, grid, plan = sets.calibration, sets.grid, f"sets {name}"
    evidence.lines += [
        {
            **{"plan": plan, "about": {"model": sets.model.fingerprint, "data": made.data}},
            **{"noise": noise_line(sets.law), "grid": None if grid is None else grid.step},
            **{"alpha": None, "methods": {}},
        },
        {
            **{"plan": plan, "sets": name, "coverage": sets.coverage, "radius": sets.radius},
            **{"aside": 0.0 if grid is None else grid.aside, "draws": sets.draws},
            **{"confidence": sets.confidence, "multiplier": sets.proof.multiplier},
            **{"overlap": sets.proof.overlap, "level": sets.level, "rank": made.rank},
            "calibration": {"inputs": made.inputs, "draws": made.draws},
            **{"scores": list(made.scores), "threshold": sets.threshold},
        },
    ]


# ----------------------------------------------------------------------------------------- files


def evidence_of_text(text: str, about: Line) -> Evidence:
    """What a JSON text claims: one value, a list, or one value on each line."""
    return evidence_of_certificates(_values_of(text), about)


def _values_of(text: str) -> Iterator[tuple[str, Any]]:
    try:
        whole = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        yield from _values_of_lines(text)
        return
    for number, value in enumerate(whole if isinstance(whole, list) else [whole], 1):
        yield f"certificate {number}", value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; of a field that comes twice another program may read the other value."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field comes twice")
    return fields


def _values_of_lines(text: str) -> Iterator[tuple[str, Any]]:
    # Not `splitlines`: a text in JSON may hold characters that end a line for Unicode alone.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                value = json.loads(line, object_pairs_hook=_once)
            except (ValueError, RecursionError) as error:
                value = DataError(f"this is no JSON: {error}")
            yield f"line {number}", value


def evidence_of_file(path: Path) -> Evidence:
    """What a table (CSV, JSON lines, Parquet) or a JSON file claims."""
    about = {"file": str(path)}
    if path.name.endswith((".csv", ".csv.gz")):
        with open_csv(path) as table:
            _demand_header(path, table.header)
            rows = [
                (f"line {row.line}", row.cells if row.error is None else DataError(row.error))
                for row in table.rows
            ]
        return evidence_of_certificates(rows, about)
    if not (path.is_file() or path.is_fifo()):
        raise DataError(f"{path} is no file and no folder")
    try:
        content = path.read_bytes()
        if content.startswith(PARQUET_MAGIC):
            return evidence_of_certificates(_rows_of_parquet(content, path), about)
        return evidence_of_text(content.decode(), about)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path}: {error}") from None


def _rows_of_parquet(content: bytes, path: Path) -> list[tuple[str, Any]]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet") from None
    try:
        table = parquet.read_table(pyarrow.BufferReader(content))
        rows = table.to_pylist()
    except (pyarrow.ArrowException, OSError, OverflowError, ValueError) as error:
        # Also dates that Python does not have, in columns that are not needed.
        raise DataError(f"{path} cannot be read as Parquet: {error}") from None
    _demand_header(path, table.column_names)
    return [(f"row {number}", cells) for number, cells in enumerate(rows)]


def _demand_header(path: Path, header: list[str]) -> None:
    missing = [name for name in NEEDED_COLUMNS if name not in header]
    if not {"radius", "certified_radius"} & set(header):
        missing.append("radius")
    if missing:
        raise DataError(
            f"{path} lacks the column(s) {', '.join(missing)}; `dsrs recertify` and "
            "`dsrs export` write them"
        )
