"""The truncation heuristic against the percentiles that were best for each input (appendix)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dsrs.errors import NotRecorded
from dsrs.laws import heuristic_percentile
from dsrs.paper.figures.canvas import canvas
from dsrs.paper.recorded import Floats, RecordedRun
from dsrs.paper.recorded_accuracy import RadiiOf
from dsrs.reports.style import method_color, run_color

PERCENTILES = tuple(round(0.1 * step, 1) for step in range(1, 10))
NEARLY_BEST = 0.01  # a radius this close to the best counts as best: the paper's radius grid


@dataclass(frozen=True, slots=True)
class BestPercentiles:
    """For each input: P-, and the least and greatest percentile with (nearly) the best radius."""

    model: str
    p_lower: Floats
    least: Floats
    greatest: Floats


def sweep_runs(runs: list[RecordedRun], model: str) -> list[RecordedRun]:
    """The runs of `model` truncated at 0.1, ..., 0.9 of the mass, in this order."""
    by_rule = {
        float(run.name.rule): run
        for run in runs
        if run.name.model == model
        and run.name.q_shape == "truncated"
        and run.name.rule not in (None, "x", "x+", "x2")
    }
    missing = [p for p in PERCENTILES if p not in by_rule]
    if missing:
        raise NotRecorded(
            f"the sweep over truncations needs recorded runs of {model} at percentiles "
            f"{', '.join(map(str, missing))}, which are not there"
        )
    return [by_rule[p] for p in PERCENTILES]


def best_percentiles(sweep: list[RecordedRun], radii_of: RadiiOf) -> BestPercentiles:
    """Which truncations gave the largest radius; inputs without a gain over P alone are left out.

    Where no percentile proves more than another, every one is best and nothing is to be learned.
    """
    radii = np.array([radii_of(run) for run in sweep])
    best = radii.max(axis=0)
    near = radii >= best - NEARLY_BEST
    useful = (best > 0) & ~near.all(axis=0)
    percentiles = np.array(PERCENTILES)[:, None]
    return BestPercentiles(
        sweep[0].name.model,
        sweep[0].p_lower[useful],
        np.where(near, percentiles, np.inf).min(axis=0)[useful],
        np.where(near, percentiles, -np.inf).max(axis=0)[useful],
    )


def draw_heuristic(best: BestPercentiles, path: Path) -> None:
    """The best percentiles and both readings of the heuristic (docs/differences.md)."""
    # In -ln(1 - P-) the heuristic is a straight line, and the inputs spread out.
    grid = np.linspace(math.log(2), 9.5, 400)
    bounds = -np.expm1(-grid)
    with canvas(path) as [axes]:
        axes.vlines(
            -np.log1p(-best.p_lower),
            best.least - 0.01,
            best.greatest + 0.01,
            color=run_color(5),
            linewidth=0.6,
            label="largest radius of an input",
        )
        recorded = [heuristic_percentile(p, "recorded") for p in bounds]
        paper = [heuristic_percentile(p, "paper") for p in bounds]
        axes.plot(
            grid, recorded, color=method_color("truncated"), label="heuristic of the recorded runs"
        )
        axes.plot(
            grid, paper, color="#000000", dashes=(4, 2), label="heuristic printed in the paper"
        )
        axes.set(
            xlabel=r"$-\ln(1 - P_A^-)$",
            ylabel="mass of $P$ inside $T$",
            xlim=(0.6, 9.6),
            ylim=(0, 1),
        )
        axes.legend()
