"""The paper's printed figures, transcribed from its text and kept as data files.

`accuracy.csv` holds the four tables of certified accuracy, one printed row a line; the cell `xN`
belongs to radius N * radius_step. `acr.csv` holds the average certified radii and `gamma_cdf.csv`
the enumeration in the proof of Theorem 2. In the table `truncation-choice` the paper prints
sigma = 1.00 for ImageNet, but the figures are those of sigma = 0.50 in its own table by sigma, and
so they are filed under 0.50 here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

from dsrs.files.csv_rows import csv_table

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
    file = resources.files("dsrs.paper").joinpath("data").joinpath(name)
    table = csv_table(file.read_text(encoding="utf-8").splitlines(keepends=True), name)
    return (row.cells for row in table.good_rows(name))
