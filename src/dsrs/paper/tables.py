"""The paper's tables beside the same figures from the recorded runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dsrs.paper.published import PublishedRow, published_accuracy, published_acr
from dsrs.paper.recorded_accuracy import Radii, RecordedAccuracy, Source
from dsrs.paper.table_runs import TABLE_SIGMAS, cell_key, row_key

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
