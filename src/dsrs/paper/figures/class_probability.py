"""Histograms of P_A on TinyImageNet and ImageNet (appendix).

The two data sets show the same kind of images at different sizes, smoothed with the same sigma =
0.5 and m = 4. Of the inputs with P- > 1/2 it shows 1 - P- in steps of about 3. Where a training
has no log of ImageNet at this sigma, the next larger sigma stands in, whose P- are smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dsrs.errors import DataError, NotRecorded
from dsrs.exchange.dsrs_logs import read_sampling_log
from dsrs.paper.figures.canvas import canvas
from dsrs.paper.recorded import RECORDED_TRAININGS, Floats, RecordedRun
from dsrs.paper.titles import model_title
from dsrs.reports.style import method_color

SIGMA = 0.5
M = 4.0  # d / 2 - k
RECORDED_VOTES = 100_000
RECORDED_ALPHA = 0.001
# From the largest P- that 100,000 votes can prove, 1 - 0.00008, to P- = 1/2.
EDGES = np.array([0.00005, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5])


@dataclass(frozen=True, slots=True)
class LowerBounds:
    """P- of every input of one model smoothed with exponent k."""

    model: str
    k: float
    p_lower: Floats


def imagenet_lower_bounds(runs: Sequence[RecordedRun]) -> list[LowerBounds]:
    """Each training on ImageNet with k > 0, under P alone, at the least sigma from 0.5 on."""
    of_training: dict[str, RecordedRun] = {}
    for run in sorted(runs, key=lambda run: run.name.law.sigma):
        name = run.name
        if (
            (name.dataset, name.q_shape) == ("imagenet", None)
            and (name.n, name.alpha, name.law.d / 2 - name.law.k)
            == (RECORDED_VOTES, RECORDED_ALPHA, M)
            and name.law.sigma >= SIGMA
        ):
            of_training.setdefault(name.training, run)
    order = {name: place for place, name in enumerate(RECORDED_TRAININGS.values())}
    found = sorted(of_training.values(), key=lambda run: order.get(run.name.training, len(order)))
    return [LowerBounds(run.name.model, run.name.law.k, run.p_lower) for run in found]


def tinyimagenet_lower_bounds(folder: Path) -> tuple[list[LowerBounds], list[tuple[Path, str]]]:
    """The same of TinyImageNet, whose logs are in no table, and the logs that cannot be read."""
    found, broken = [], []
    models = folder / "sampling"
    for path in sorted(
        models.glob(f"*-tinyimagenet-*-0.50.pth/*-{SIGMA}-{RECORDED_VOTES}-{RECORDED_ALPHA}.txt")
    ):
        try:
            log = read_sampling_log(path)
        except DataError as error:
            broken.append((path, str(error)))
            continue
        lower = np.array([interval.lower for interval in log.intervals.values()])
        found.append(LowerBounds(path.parent.name.removesuffix(".pth"), log.name.k, lower))
    return found, broken


def draw_histograms(bounds: Sequence[LowerBounds], path: Path) -> None:
    """One panel a model: percent of the inputs with P- > 1/2, by 1 - P-."""
    if not bounds:
        raise NotRecorded(
            f"the histograms need logs of TinyImageNet models with sigma = {SIGMA}, or of ImageNet "
            f"models with no less, {RECORDED_VOTES:,} votes and alpha = {RECORDED_ALPHA}; "
            "found none"
        )
    columns = min(2, len(bounds))
    rows = -(-len(bounds) // columns)
    with canvas(path, columns, rows, width=3.4, height=1.9) as panels:
        for axes, bound in zip(panels, bounds, strict=False):
            right = bound.p_lower[bound.p_lower > 0.5]
            weights = np.full(len(right), 100 / len(right))
            axes.hist(
                1 - right,
                bins=EDGES.tolist(),
                weights=weights,
                color=method_color("np"),
                rwidth=0.94,
            )
            axes.set(xscale="log", xlim=(EDGES[0], EDGES[-1]), ylim=(0, 60))
            axes.set_title(
                f"{_title(bound)}\n{len(right):,} of {len(bound.p_lower):,} inputs with "
                f"$P_A^- > 1/2$, median {np.median(right):.3f}",
                fontsize=7,
            )
        for axes in panels[len(bounds) :]:
            axes.set_axis_off()
        for axes in panels[::columns]:
            axes.set_ylabel("inputs (%)")
        for axes in panels[: len(bounds)][-columns:]:
            axes.set_xlabel("$1 - P_A^-$")


def _title(bound: LowerBounds) -> str:
    trained_so = f"-{bound.k:g}-" in bound.model
    return model_title(bound.model) + ("" if trained_so else f"\nsmoothed with $k$ = {bound.k:g}")
