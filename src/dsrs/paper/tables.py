"""The paper's tables beside the same figures from the recorded runs.

Which run belongs to which cell follows from the text (section "Experimental Setup") and was
checked against the recorded radii, which give the printed percents exactly: k = 380, 1530, 75260;
Neyman-Pearson with 100,000 votes and alpha = 0.001; double sampling with 50,000 + 50,000 votes and
alpha = 0.0005 each, Q rescaled by 0.8 on MNIST and CIFAR-10 and truncated by the rule `x+` on
ImageNet. In the table on the choice of T the Neyman-Pearson rows of MNIST and CIFAR-10 use the
first 50,000 votes only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dsrs.paper.published import PublishedRow, published_accuracy, published_acr
from dsrs.paper.recorded import Floats, RecordedRun, RunName

K = {"mnist": 380.0, "cifar10": 1530.0, "imagenet": 75260.0}
SIGMAS = (0.25, 0.5, 1.0)
RESCALING = 0.8
TOLERANCE = 0.1  # percentage points; one input of a thousand

RadiiOf = Callable[[RecordedRun], Floats]


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of the paper and ours; `ours` is None when no recorded run covers it."""

    table: str
    dataset: str
    training: str
    sigma: float | None
    certification: str
    radius: float | None  # None in the table of average radii
    paper: float
    ours: Fraction | float | None  # percents are exact, so that they round down exactly

    @property
    def digits(self) -> int:
        """Decimals that the paper prints."""
        return 3 if self.radius is None else 1

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's, at the paper's digits."""
        return None if self.ours is None else round(float(self.ours) - self.paper, self.digits)

    @property
    def short(self) -> bool:
        """Ours is below the paper's by more than one input of a thousand (ACR: at all)."""
        allowed = 0.0 if self.radius is None else TOLERANCE
        return self.difference is not None and self.difference < -allowed


class RecordedAccuracy:
    """Certified accuracies of the recorded runs; `radii_of` gives a run its radii, once."""

    def __init__(self, runs: Iterable[RecordedRun], radii_of: RadiiOf) -> None:
        self._runs = {_key(run.name): run for run in runs}
        self._radii_of = radii_of
        self._radii: dict[_Key, Floats] = {}

    def radii(self, key: _Key) -> Floats | None:
        """Radii of the run with this key; None if it was not recorded."""
        if key not in self._runs:
            return None
        if key not in self._radii:
            self._radii[key] = self._radii_of(self._runs[key])
        return self._radii[key]

    def percent(self, key: _Key, radius: float) -> Fraction | None:
        """Share of all inputs that are right and certified at `radius`, in percent."""
        radii = self.radii(key)
        if radii is None:
            return None
        return Fraction(100 * int(np.count_nonzero(radii >= radius)), len(radii))

    def average_radius(self, key: _Key) -> float | None:
        """ACR: the mean radius, 0 for inputs that are wrong or abstained."""
        radii = self.radii(key)
        return None if radii is None else float(radii.mean())


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


def runs_needed(runs: Iterable[RecordedRun], tables: Iterable[str]) -> list[RecordedRun]:
    """The recorded runs that some cell of these tables uses."""
    wanted: set[_Key] = set()
    for table in tables:
        if table == "acr":
            wanted |= {
                _cell_key(r.dataset, r.training, r.sigma, r.certification) for r in published_acr()
            }
        for row in published_accuracy():
            if row.table == table:
                sigmas = SIGMAS if row.sigma is None else (row.sigma,)
                wanted |= {_row_key(row, sigma) for sigma in sigmas}
    return [run for run in runs if _key(run.name) in wanted]


@dataclass(frozen=True, slots=True)
class _Key:
    """A run by what the paper says of it."""

    dataset: str
    training: str
    sigma: float
    k: float
    n: int
    alpha: float
    q_shape: str | None
    rule: str | None


def _key(name: RunName) -> _Key:
    return _Key(
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


def _cell_key(
    dataset: str, training: str, sigma: float, certification: str, half_votes: bool = False
) -> _Key:
    k = K[dataset]
    if certification == "neyman-pearson":
        n, alpha = (50_000, 0.0005) if half_votes else (100_000, 0.001)
        return _Key(dataset, training, sigma, k, n, alpha, None, None)
    rescaled = certification == "dsrs-rescaled" or (
        certification == "dsrs" and dataset != "imagenet"
    )
    rule = {"dsrs-opt": "opt"}.get(certification, "x+")
    return _Key(
        dataset,
        training,
        sigma,
        k,
        50_000,
        0.0005,
        "rescaled" if rescaled else "truncated",
        _rounded(str(RESCALING * sigma)) if rescaled else rule,
    )


def _row_key(row: PublishedRow, sigma: float) -> _Key:
    half_votes = row.table == "truncation-choice" and row.dataset != "imagenet"
    return _cell_key(row.dataset, row.training, sigma, row.certification, half_votes)


def _rounded(rule: str | None) -> str | None:
    # "0.8" and 0.8 * 1.0 must name the same law.
    return None if rule is None else f"{float(rule):.6g}"


def _accuracy_cells(recorded: RecordedAccuracy, row: PublishedRow) -> list[Cell]:
    cells = []
    for radius, paper in zip(row.radii, row.percents, strict=True):
        if row.sigma is None:
            ours = _best_over_sigma(recorded, row, radius, paper)
        else:
            ours = recorded.percent(_row_key(row, row.sigma), radius)
        cells.append(
            Cell(
                row.table,
                row.dataset,
                row.training,
                row.sigma,
                row.certification,
                radius,
                paper,
                ours,
            )
        )
    return cells


def _best_over_sigma(
    recorded: RecordedAccuracy, row: PublishedRow, radius: float, paper: float
) -> Fraction | None:
    """The best sigma, if the sigma that the paper's figure comes from was recorded."""
    percents = {sigma: recorded.percent(_row_key(row, sigma), radius) for sigma in SIGMAS}
    covered = [percent for percent in percents.values() if percent is not None]
    if len(covered) < len(SIGMAS):
        best = {
            other.sigma
            for other in published_accuracy()
            if (other.table, other.dataset, other.training, other.certification)
            == ("per-sigma", row.dataset, row.training, row.certification)
            and radius in other.radii
            and other.percents[other.radii.index(radius)] == paper
        }
        if not any(sigma in best and percents[sigma] is not None for sigma in SIGMAS):
            return None
    return max(covered)


def _acr_cells(recorded: RecordedAccuracy) -> list[Cell]:
    return [
        Cell(
            "acr",
            row.dataset,
            row.training,
            row.sigma,
            row.certification,
            None,
            row.acr,
            recorded.average_radius(
                _cell_key(row.dataset, row.training, row.sigma, row.certification)
            ),
        )
        for row in published_acr()
    ]
