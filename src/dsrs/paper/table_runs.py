"""Which recorded run belongs to which row of the paper's tables.

It follows from the text (section "Experimental Setup") and was checked against the recorded radii,
which give the printed percents exactly: k = 380, 1530, 75260; Neyman-Pearson with 100,000 votes
and alpha = 0.001; double sampling with 50,000 + 50,000 votes and alpha = 0.0005 each, Q rescaled
by 0.8 on MNIST and CIFAR-10 and truncated by the rule `x+` on ImageNet. In the table on the choice
of T the Neyman-Pearson rows use the first 50,000 votes only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from dsrs.paper.published import PublishedRow, published_accuracy, published_acr
from dsrs.paper.recorded import RecordedRadii, RecordedRun, RunName

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
