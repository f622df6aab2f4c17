"""One method's answer for one input as a flat row: what every exchange format is made of."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from dsrs.errors import DataError, InvalidInput
from dsrs.files import one_line
from dsrs.laws import GeneralizedGaussian, parse_additional_law
from dsrs.measures import proves
from dsrs.proofs import STATUSES, AttackedInput, Certificate, Interval

if TYPE_CHECKING:
    from dsrs.store import RunResult

METHOD_NAME = re.compile(r"[A-Za-z0-9][ -~]*")  # not what a spreadsheet takes for a formula
ABSTAINED_CLASS = -1  # what the class column of other people's logs says for "abstained"


@dataclass(frozen=True, slots=True)
class ResultRow:
    """The columns of the CSV, JSON lines and Parquet formats, in their order.

    A format that does not hold a column leaves it None. `target` is the class that the radius (l2)
    is for; `n` and `alpha` are the budget of the whole method. `q_law` is the exact text of the
    additional law, such as `rescaled:0.4`, as `dsrs recertify` reads it. `rival` bounds every other
    class where that made the certificate, and `queries` the rows that the model ran for the input,
    all methods together. `grid` is the step of the grid that inputs and noise were rounded to,
    `moved` how far that moved the input, which the radius is less by; both are empty where there
    was none. `attacked` is the distance of the nearest proved counterexample to what the
    certificate claims, `attack_shown` what was proved there. `proof` holds every step of the
    certificate's proof, for `dsrs check`. `class_name` is what `target` is called, if it has a
    name, `undefended` the class that the model gives without noise.
    """

    index: int
    label: int | None = None
    predicted: int | None = None
    target: int | None = None
    method: str | None = None
    status: str | None = None
    radius: float | None = None
    np_radius: float | None = None
    d: int | None = None
    k: float | None = None
    eta: float | None = None
    sigma: float | None = None
    n: int | None = None
    alpha: float | None = None
    p_lower: float | None = None
    p_upper: float | None = None
    q_law: str | None = None
    q_lower: float | None = None
    q_upper: float | None = None
    rival: float | None = None
    seconds: float | None = None
    queries: int | None = None
    grid: float | None = None
    moved: float | None = None
    attacked: float | None = None
    attack_shown: str | None = None
    proof: str | None = None
    class_name: str | None = None
    undefended: int | None = None

    def __post_init__(self) -> None:
        for name in ("index", "label", "predicted", "target", "queries", "undefended"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise DataError(f"`{name}` must not be negative, got {value}")
        for name in ("radius", "np_radius", "seconds", "grid", "moved", "attacked"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise DataError(f"`{name}` of input {self.index} must be >= 0, got {value!r}")
        if self.rival is not None and not 0 <= self.rival <= 1:
            raise DataError(f"`rival` of input {self.index} must be in [0, 1], got {self.rival!r}")
        if self.method is not None and not METHOD_NAME.fullmatch(self.method):
            raise DataError(
                f"`method` of input {self.index} must start with a letter or digit and be "
                f"printable, got {self.method!r}"
            )
        for lower, upper in ((self.p_lower, self.p_upper), (self.q_lower, self.q_upper)):
            if lower is not None and upper is not None:
                Interval(lower, upper)
        self._check_answer()
        self._check_law()

    def _check_answer(self) -> None:
        """Refuse answers that contradict themselves."""
        if self.status not in (None, *STATUSES):
            raise DataError(f"`status` must be one of {', '.join(STATUSES)}, got {self.status!r}")
        if self.status in ("abstained", "undecided") and self.radius:
            raise DataError(f"input {self.index} is {self.status} and has radius {self.radius!r}")
        for name in ("radius", "np_radius"):
            # Only a class that is certain under a law is proved everywhere.
            if getattr(self, name) == math.inf and 1.0 not in (self.p_lower, self.q_lower):
                raise DataError(f"`{name}` of input {self.index} is infinite without a certain law")

    def _check_law(self) -> None:
        """Refuse a law that does not exist, and budgets that cannot be."""
        if self.n is not None and self.n < 1:
            raise DataError(f"`n` must be at least 1, got {self.n}")
        if self.alpha is not None and not 0 < self.alpha < 1:
            raise DataError(f"`alpha` must be in (0, 1), got {self.alpha!r}")
        law = self.smoothing_law
        if law is not None:
            if self.q_law is not None:
                parse_additional_law(self.q_law, law, self.p_lower)
        elif self.sigma is not None and not 0 < self.sigma < math.inf:
            raise DataError(f"`sigma` must be positive and finite, got {self.sigma!r}")

    @property
    def smoothing_law(self) -> GeneralizedGaussian | None:
        """The law of the row; None where it does not say d and sigma."""
        if self.d is None or self.sigma is None:
            return None
        eta = 2.0 if self.eta is None else self.eta
        return GeneralizedGaussian(self.d, self.sigma, self.k or 0.0, eta)

    @property
    def correct(self) -> bool:
        """Whether the certified class is the label."""
        return self.proves and self.label is not None and self.label == self.target

    @property
    def proves(self) -> bool:
        """Whether the radius is proved."""
        return proves(self.status, self.radius)


TABLE_COLUMNS: dict[str, type] = {
    field.name: {"int": int, "float": float, "str": str}[str(field.type).split(" |")[0]]
    for field in fields(ResultRow)
}


def rows_of(
    results: Iterable[RunResult],
    plan: Mapping[str, Any],
    method: str | None = None,
    attacks: Mapping[int, AttackedInput] | None = None,
) -> Iterator[ResultRow]:
    """The rows of a run, one for each input and method (or for one method)."""
    for result in results:
        for name, certificate in result.certificates.items():
            if method in (None, name):
                row = _row(result, name, certificate, plan)
                attack = (attacks or {}).get(result.index)
                yield row if attack is None else _with_attack(row, certificate, attack)


def _row(
    result: RunResult, method: str, certificate: Certificate, plan: Mapping[str, Any]
) -> ResultRow:
    proof, subject = certificate.proof, certificate.subject
    class_name = None if subject is None else subject.class_name
    if len(certificate.observations) > 1:
        raise InvalidInput(
            f"the certificate of input {result.index} uses {len(certificate.observations)} "
            "additional laws; a table has columns for one"
        )
    return ResultRow(
        index=result.index,
        label=result.label,
        predicted=result.predicted,
        target=result.target,
        method=method,
        status=certificate.status,
        radius=certificate.radius,
        np_radius=certificate.np_radius,
        d=certificate.law.d,
        k=certificate.law.k,
        eta=certificate.law.eta,
        sigma=certificate.law.sigma,
        n=plan["n"],
        alpha=plan["alpha"],
        seconds=result.seconds,
        queries=result.queries,
        grid=None if certificate.grid is None else certificate.grid.step,
        moved=None if certificate.grid is None else certificate.grid.moved,
        class_name=None if class_name is None else one_line(class_name),
        undefended=result.sampled.undefended,
        **({} if proof is None else proof.columns()),
    )


def _with_attack(row: ResultRow, certificate: Certificate, attack: AttackedInput) -> ResultRow:
    """The row with the counterexample of its input, where it ends what the certificate claims."""
    counterexample = attack.counterexample
    if counterexample is None or not row.proves or attack.norm != "l2":
        return row
    if not counterexample.ends(certificate.claim):
        return row
    return replace(row, attacked=counterexample.norm, attack_shown=counterexample.shown)


def row_from_text(cells: Mapping[str, str | None], where: str) -> ResultRow:
    """A row from named texts, as a CSV file holds them; unknown columns are left alone."""
    values: dict[str, Any] = {}
    for name, kind in TABLE_COLUMNS.items():
        text = cells.get(name)
        if text is None or text == "":
            continue
        values[name] = parsed(text, kind, name, where)
    if cells.get("certified_radius"):
        # A table of `dsrs recertify` keeps the columns that it was given and appends its own.
        values["radius"] = parsed(cells["certified_radius"] or "", float, "certified_radius", where)
    if "index" not in values:
        raise DataError(f"{where}: the column `index` is missing or empty")
    return checked_row(values, where)


def row_from_fields(fields: Mapping[str, Any], where: str) -> ResultRow:
    """A row from named values, as JSON and Parquet hold them."""
    # Through text: JSON has one kind of number, and a whole float must stay a float.
    cells = {name: None if value is None else str(value) for name, value in fields.items()}
    return row_from_text(cells, where)


def checked_row(values: Mapping[str, Any], where: str) -> ResultRow:
    """The row of these values; what is wrong with them is told with the place."""
    try:
        return ResultRow(**values)
    except (DataError, InvalidInput) as error:
        raise DataError(f"{where}: {error}") from None


def parsed(text: str, kind: type, name: str, where: str) -> Any:
    """Read `text` as an int or a float (not NaN), or return it as it is."""
    if kind is str:
        return text
    try:
        value = kind(text)
    except ValueError:
        raise DataError(
            f"{where}: `{name}` must be {'a whole number' if kind is int else 'a number'}, "
            f"got {text!r}"
        ) from None
    if kind is float and math.isnan(value):
        raise DataError(f"{where}: `{name}` is NaN")
    return value
