"""Seconds that a certificate takes, beside those of the paper.

The paper gives the time of double sampling with truncated Q (rule `x+`), as an overhead over
Neyman-Pearson, at sigma = 0.5: 10.53 s an input on MNIST, 4.53 s on CIFAR-10, 3.21 s on ImageNet.
The logs of these runs hold ten times as many seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dsrs.errors import DataError, NotRecorded
from dsrs.proofs import Interval, certify
from reproduction.logs import LogHeader, RadiusName, log_lines
from reproduction.recorded import RecordedRun, recertify
from reproduction.tables import TABLE_SIGMAS, cell_key, key_of

PAPER_SECONDS = {"mnist": 10.53, "cifar10": 4.53, "imagenet": 3.21}
PAPER_SIGMA = 0.5
TIME_HEADS = ["data", "sigma", "inputs", "NP, ms", "double, ms", "more, ms", "paper, s", "log, s"]


@dataclass(frozen=True, slots=True)
class CertificationTime:
    """Mean seconds an input, on one thread; `recorded` is what the log says, if there is one."""

    dataset: str
    sigma: float
    inputs: int
    neyman_pearson: float
    double_sampling: float
    paper: float
    recorded: float | None

    @property
    def overhead(self) -> float:
        """Double sampling over Neyman-Pearson, as the paper counts."""
        return self.double_sampling - self.neyman_pearson

    def cells(self) -> list[object]:
        """A row of a table under `TIME_HEADS`."""
        ours = (self.neyman_pearson, self.double_sampling, self.overhead)
        return [
            self.dataset,
            f"{self.sigma:g}",
            self.inputs,
            *(f"{1000 * seconds:.2f}" for seconds in ours),
            f"{self.paper:.2f}",
            "-" if self.recorded is None else f"{self.recorded:.2f}",
        ]


def runs_to_time(runs: Sequence[RecordedRun]) -> list[RecordedRun]:
    """For each data set the paper's run at sigma = 0.5, or at another sigma where it is missing."""
    by_key = {key_of(run.name): run for run in runs}
    found = []
    for dataset in PAPER_SECONDS:
        sigmas = (PAPER_SIGMA, *(sigma for sigma in TABLE_SIGMAS if sigma != PAPER_SIGMA))
        keys = [cell_key(dataset, "gaussian", sigma, "dsrs-truncated") for sigma in sigmas]
        recorded = [by_key[key] for key in keys if key in by_key]
        found += recorded[:1]
    if not found:
        raise NotRecorded("the times need recorded runs with truncated Q (rule x+), found none")
    return found


def certification_time(
    run: RecordedRun, inputs: int, logs: Path | None, advance: Callable[[], None] = lambda: None
) -> CertificationTime:
    """Certify inputs spread over `run` one after another, from P alone and from P and Q."""
    few = run.every(max(len(run) // inputs, 1))
    certify(run.name.law, Interval(0.9, 0.91))  # compiled before the clock starts
    recertify(few, 0)
    alone, double = [], []
    for row in range(len(few)):
        p = Interval(float(few.p_lower[row]), float(few.p_upper[row]))
        start = time.perf_counter()
        certify(run.name.law, p)
        middle = time.perf_counter()
        recertify(few, row)
        alone.append(middle - start)
        double.append(time.perf_counter() - middle)
        advance()
    dataset = run.name.dataset
    return CertificationTime(
        dataset,
        run.name.law.sigma,
        len(few),
        float(np.mean(alone)),
        float(np.mean(double)),
        PAPER_SECONDS[dataset],
        None if logs is None else recorded_seconds(logs, run),
    )


def recorded_seconds(logs: Path, run: RecordedRun) -> float | None:
    """Mean of the log of seconds that belongs to a run with truncated Q; None if there is none."""
    law, votes = run.name.law, run.name
    p = LogHeader(law.k, law.sigma, votes.n, votes.alpha)
    name = f"time-{RadiusName(p, votes.rule, truncated=True).stem}.txt"
    path = logs / "new-radius" / f"{run.name.model}.pth" / name
    if not path.exists():
        return None
    try:
        return float(np.mean([float(words[-1]) for _, words in log_lines(path)]))
    except ValueError:
        raise DataError(f"{path}: expected a number of seconds in every line") from None
