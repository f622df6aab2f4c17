"""The paper's tables beside the same figures from the recorded runs.

The printed figures are transcribed from the paper's text and kept as data files. `accuracy.csv`
holds the four tables of certified accuracy, one printed row a line; the cell `xN` belongs to radius
N * radius_step. `acr.csv` holds the average certified radii and `gamma_cdf.csv` the enumeration in
the proof of Theorem 2. In the table `truncation-choice` the paper prints sigma = 1.00 for ImageNet,
but the figures are those of sigma = 0.50 in its own table by sigma, and so they are filed under
0.50 here.

Which recorded run belongs to which row follows from the text (section "Experimental Setup") and was
checked against the recorded radii, which give the printed percents exactly: k = 380, 1530, 75260;
Neyman-Pearson with 100,000 votes and alpha = 0.001; double sampling with 50,000 + 50,000 votes and
alpha = 0.0005 each, Q rescaled by 0.8 on MNIST and CIFAR-10 and truncated by the rule `x+` on
ImageNet. In the table on the choice of T the Neyman-Pearson rows use the first 50,000 votes only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from dsrs.files import csv_table
from reproduction.recorded import Floats, Ints, RecordedRadii, RecordedRun, RunName

TITLES = {
    "best-over-sigma": "Certified accuracy, best over sigma (main table)",
    "per-sigma": "Certified accuracy for each sigma (appendix)",
    "variants": "Truncated against rescaled Q, sigma = 1 (appendix)",
    "truncation-choice": "Truncation by heuristic and by optimisation (appendix)",
    "acr": "Average certified radius, sigma = 1 (appendix)",
}


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One row of a table of certified accuracy: percents of the test inputs at each radius.

    `sigma` is None in the table that takes the best sigma for every radius.
    """

    table: str
    dataset: str
    training: str
    sigma: float | None
    certification: str
    radii: tuple[float, ...]
    percents: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PublishedAcr:
    """One average certified radius."""

    dataset: str
    training: str
    sigma: float
    certification: str
    acr: float


@cache
def published_accuracy() -> tuple[PublishedRow, ...]:
    """All rows of certified accuracy, in the paper's order."""
    return tuple(_accuracy_row(fields) for fields in _read("accuracy.csv"))


@cache
def published_acr() -> tuple[PublishedAcr, ...]:
    """The table of average certified radii."""
    return tuple(
        PublishedAcr(
            fields["dataset"],
            fields["training"],
            float(fields["sigma"]),
            fields["certification"],
            float(fields["acr"]),
        )
        for fields in _read("acr.csv")
    )


@cache
def published_gamma_cdf() -> tuple[tuple[float, str], ...]:
    """(m, GammaCDF_m(0.98 m) as printed, four digits) of the proof of Theorem 2."""
    return tuple((float(fields["m"]), fields["cdf"]) for fields in _read("gamma_cdf.csv"))


def _accuracy_row(fields: dict[str, str]) -> PublishedRow:
    step = float(fields["radius_step"])
    printed = [fields[f"x{n}"] for n in range(1, 13) if fields[f"x{n}"]]
    return PublishedRow(
        table=fields["table"],
        dataset=fields["dataset"],
        training=fields["training"],
        sigma=float(fields["sigma"]) if fields["sigma"] else None,
        certification=fields["certification"],
        # Rounded, so that radius 0.3 is the decimal 0.3 and not 3 * 0.1.
        radii=tuple(round(n * step, 10) for n in range(1, len(printed) + 1)),
        percents=tuple(float(cell) for cell in printed),
    )


def _read(name: str) -> Iterator[dict[str, str]]:
    file = Path(__file__).with_name("data") / name
    table = csv_table(file.read_text(encoding="utf-8").splitlines(keepends=True), name)
    return (row.cells for row in table.good_rows(name))


K = {"mnist": 380.0, "cifar10": 1530.0, "imagenet": 75260.0}
TABLE_SIGMAS = (0.25, 0.5, 1.0)
RESCALING = 0.8

Run = TypeVar("Run", RecordedRun, RecordedRadii)


@dataclass(frozen=True, slots=True)
class RunKey:
    """A run by what the paper says of it."""

    dataset: str
    training: str
    sigma: float
    k: float
    n: int
    alpha: float
    q_shape: str | None
    rule: str | None


def key_of(name: RunName) -> RunKey:
    """The key of a recorded run."""
    return RunKey(
        name.dataset,
        # Models trained with other noise than they are smoothed with are not the paper's.
        name.training if f"-{name.law.k:g}-{name.law.sigma:.2f}" in name.model else name.model,
        name.law.sigma,
        name.law.k,
        name.n,
        name.alpha,
        name.q_shape,
        name.rule if name.q_shape == "truncated" else _rounded(name.rule),
    )


def cell_key(
    dataset: str, training: str, sigma: float, certification: str, half_votes: bool = False
) -> RunKey:
    """The key of the run behind a cell; `half_votes`: Neyman-Pearson from the votes under P."""
    k = K[dataset]
    if certification == "neyman-pearson":
        n, alpha = (50_000, 0.0005) if half_votes else (100_000, 0.001)
        return RunKey(dataset, training, sigma, k, n, alpha, None, None)
    rescaled = certification == "dsrs-rescaled" or (
        certification == "dsrs" and dataset != "imagenet"
    )
    rule = {"dsrs-opt": "opt"}.get(certification, "x+")
    return RunKey(
        dataset,
        training,
        sigma,
        k,
        50_000,
        0.0005,
        "rescaled" if rescaled else "truncated",
        _rounded(str(RESCALING * sigma)) if rescaled else rule,
    )


def row_key(row: PublishedRow, sigma: float) -> RunKey:
    """The key of the run behind a printed row, at one sigma."""
    half_votes = row.table == "truncation-choice"
    return cell_key(row.dataset, row.training, sigma, row.certification, half_votes)


def runs_needed(runs: Iterable[Run], tables: Iterable[str]) -> list[Run]:
    """The recorded runs that some cell of these tables uses."""
    wanted: set[RunKey] = set()
    for table in tables:
        if table == "acr":
            wanted |= {
                cell_key(r.dataset, r.training, r.sigma, r.certification) for r in published_acr()
            }
        for row in published_accuracy():
            if row.table == table:
                sigmas = TABLE_SIGMAS if row.sigma is None else (row.sigma,)
                wanted |= {row_key(row, sigma) for sigma in sigmas}
    return [run for run in runs if key_of(run.name) in wanted]


def _rounded(rule: str | None) -> str | None:
    # "0.8" and 0.8 * 1.0 must name the same law.
    return None if rule is None else f"{float(rule):.6g}"


TEST_INPUTS = 1000  # every 10th test input of MNIST and CIFAR-10, every 50th of ImageNet

RadiiOf = Callable[[RecordedRun], Floats]
Source = Literal["recertified", "recorded"]


@dataclass(frozen=True, slots=True)
class Radii:
    """The radii behind one row of a table, beside those that were recorded for it."""

    index: Ints
    ours: Floats
    recorded: Floats
    source: Source

    def percent(self, radius: float) -> Fraction:
        """Share of all inputs that are right and certified at `radius`, in percent."""
        return Fraction(100 * int(np.count_nonzero(self.ours >= radius)), len(self.ours))

    def average(self) -> float:
        """ACR: the mean radius, 0 for inputs that are wrong or abstained."""
        return float(self.ours.mean())

    def lost(self, radius: float) -> list[int]:
        """Places of the inputs that have `radius` in the record and not here."""
        places: list[int] = np.flatnonzero(
            (self.recorded >= radius) & (self.ours < radius)
        ).tolist()
        return places


class RecordedAccuracy:
    """The radii of recorded runs by key; `radii_of` solves a run, once, when it is asked for.

    Without `radii_of` the radii are those recorded. `alone` are runs of which only the radii are
    known: they stand in where no run has the intervals. A run that does not have the paper's
    number of inputs is not the paper's: it is left out, and listed in `cut`.
    """

    def __init__(
        self,
        runs: Iterable[RecordedRun],
        radii_of: RadiiOf | None = None,
        alone: Iterable[RecordedRadii] = (),
        inputs: int = TEST_INPUTS,
    ) -> None:
        self.cut: list[tuple[RunName, int]] = []
        self._inputs = inputs
        self._runs = self._complete(runs)
        self._alone = self._complete(alone)
        self._radii_of = radii_of
        self._radii: dict[RunKey, Radii] = {}

    def radii(self, key: RunKey) -> Radii | None:
        """Radii of the run with this key; None if it was not recorded."""
        if key not in self._radii:
            found = self._find(key)
            if found is None:
                return None
            self._radii[key] = found
        return self._radii[key]

    def _find(self, key: RunKey) -> Radii | None:
        run = self._runs.get(key)
        if run is not None and self._radii_of is not None:
            return Radii(run.index, self._radii_of(run), run.recorded_radius, "recertified")
        recorded = run or self._alone.get(key)
        if recorded is None or np.isnan(recorded.recorded_radius).any():
            return None
        radii = recorded.recorded_radius
        return Radii(recorded.index, radii, radii, "recorded")

    def _complete(self, runs: Iterable[Run]) -> dict[RunKey, Run]:
        found = {}
        for run in runs:
            if len(run) == self._inputs:
                found[key_of(run.name)] = run
            else:
                self.cut.append((run.name, len(run)))
        return found


CELL_TOLERANCE = 0.1  # percentage points; one input of a thousand
PAPER_BASELINE = "neyman-pearson"


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of the paper and ours; `ours` is None when no recorded run covers it.

    `source` says whether ours comes from radii that were certified again, or from those that were
    recorded. `reason` is why ours is below the paper's, empty if it is not.
    """

    table: str
    dataset: str
    training: str
    sigma: float | None
    certification: str
    radius: float | None  # None in the table of average radii
    paper: float
    ours: Fraction | float | None  # percents are exact, so that they round down exactly
    source: Source | None = None
    reason: str = ""

    @property
    def digits(self) -> int:
        """Decimals that the paper prints."""
        return 3 if self.radius is None else 1

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's, at the paper's digits."""
        if self.ours is None:
            return None
        return round(float(self.ours) - self.paper, self.digits) + 0.0  # 0.0, never -0.0

    @property
    def short(self) -> bool:
        """Ours is below the paper's by more than one input of a thousand (ACR: at all)."""
        allowed = 0.0 if self.radius is None else CELL_TOLERANCE
        return self.difference is not None and self.difference < -allowed


@dataclass(frozen=True, slots=True)
class Improvement:
    """How much larger the average radius of double sampling is than that of Neyman-Pearson.

    In percent of the latter. The paper's is that of its printed radii.
    """

    paper: float
    ours: float | None


def improvement(cell: Cell, cells: Sequence[Cell]) -> Improvement | None:
    """That of a cell with an average radius of double sampling; None for any other cell."""
    if cell.radius is not None or cell.certification == PAPER_BASELINE:
        return None
    place = (cell.table, cell.dataset, cell.training, cell.sigma, PAPER_BASELINE)
    same = [
        other
        for other in cells
        if (other.table, other.dataset, other.training, other.sigma, other.certification) == place
    ]
    if not same:
        return None
    base, ours = same[0], None
    if cell.ours is not None and base.ours is not None:
        ours = 100 * (float(cell.ours) / float(base.ours) - 1)
    return Improvement(100 * (cell.paper / base.paper - 1), ours)


def compare_tables(recorded: RecordedAccuracy, tables: Iterable[str]) -> list[Cell]:
    """Every cell of the named tables (`acr` too), in the paper's order."""
    cells: list[Cell] = []
    for table in tables:
        if table == "acr":
            cells += _acr_cells(recorded)
            continue
        for row in published_accuracy():
            if row.table == table:
                cells += _accuracy_cells(recorded, row)
    return cells


def _accuracy_cells(recorded: RecordedAccuracy, row: PublishedRow) -> list[Cell]:
    cells = []
    for radius, paper in zip(row.radii, row.percents, strict=True):
        if row.sigma is None:
            radii = _best_over_sigma(recorded, row, radius, paper)
        else:
            radii = recorded.radii(row_key(row, row.sigma))
        about = (row.dataset, row.training, row.sigma, row.certification)
        cells.append(_cell(row.table, about, radius, paper, radii))
    return cells


def _cell(
    table: str,
    about: tuple[str, str, float | None, str],
    radius: float | None,
    paper: float,
    radii: Radii | None,
) -> Cell:
    if radii is None:
        return Cell(table, *about, radius, paper, None)
    if radius is None:
        reason, ours = _acr_reason(radii, paper), radii.average()
        return Cell(table, *about, radius, paper, ours, radii.source, reason)
    reason, percent = _reason(radii, radius, paper), radii.percent(radius)
    return Cell(table, *about, radius, paper, percent, radii.source, reason)


def _reason(radii: Radii, radius: float, paper: float) -> str:
    """Why a percent is below the paper's: which inputs lost the radius, or that none did."""
    percent = float(radii.percent(radius))
    if round(percent - paper, 1) >= 0:
        return ""
    lost = radii.lost(radius)
    if round(percent + 100 * len(lost) / len(radii.ours) - paper, 1) < 0:
        return "the recorded radii are below it too: it is from votes that were not kept"
    return "recorded but not proved: " + ", ".join(
        f"input {radii.index[place]}, {radii.recorded[place]:.6g} (proved {radii.ours[place]:.6f})"
        for place in lost
    )


def _best_over_sigma(
    recorded: RecordedAccuracy, row: PublishedRow, radius: float, paper: float
) -> Radii | None:
    """The best sigma, if the sigma that the paper's figure comes from was recorded."""
    found = {sigma: recorded.radii(row_key(row, sigma)) for sigma in TABLE_SIGMAS}
    covered = [radii for radii in found.values() if radii is not None]
    if len(covered) < len(TABLE_SIGMAS):
        best = {
            other.sigma
            for other in published_accuracy()
            if (other.table, other.dataset, other.training, other.certification)
            == ("per-sigma", row.dataset, row.training, row.certification)
            and radius in other.radii
            and other.percents[other.radii.index(radius)] == paper
        }
        if not any(sigma in best and found[sigma] is not None for sigma in TABLE_SIGMAS):
            return None
    # Of equal percents one that was certified again.
    return max(covered, key=lambda radii: (radii.percent(radius), radii.source == "recertified"))


def _acr_cells(recorded: RecordedAccuracy) -> list[Cell]:
    cells = []
    for row in published_acr():
        key = cell_key(row.dataset, row.training, row.sigma, row.certification)
        about = (row.dataset, row.training, row.sigma, row.certification)
        cells.append(_cell("acr", about, None, row.acr, recorded.radii(key)))
    return cells


def _acr_reason(radii: Radii, paper: float) -> str:
    if round(radii.average() - paper, 3) >= 0:
        return ""
    return f"the recorded radii average {radii.recorded.mean():.5f}"
