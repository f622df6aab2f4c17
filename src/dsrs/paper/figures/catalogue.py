"""The paper's figures by name, and how each is drawn from the recorded data or from none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dsrs.paper import dimension, multiclass, probability_plane, tightness
from dsrs.paper.figures import (
    ablation,
    accuracy_curves,
    class_probability,
    noise_norm,
    truncation,
    votes,
)
from dsrs.paper.figures import dimension as draw_dimension
from dsrs.paper.figures import tightness as draw_tightness
from dsrs.paper.recorded_accuracy import RadiiOf, RecordedAccuracy
from dsrs.paper.source import RecordedSource
from dsrs.paper.table_runs import runs_needed

SWEEP_MODEL = "consistency-cifar-1530-0.50"  # the model of the paper's own figure
SWEEP_INPUTS = 200

Unused = list[tuple[Path, str]]


@dataclass(frozen=True, slots=True)
class FigureWithoutData:
    """Computed here from nothing but the theory."""

    title: str
    draw: Callable[[Path], None]


@dataclass(frozen=True, slots=True)
class FigureFromRecord:
    """Drawn from recorded data, certified again by the given solver.

    `draw` returns the files that the figure goes without, each with the reason.
    """

    title: str
    draw: Callable[[Path, RecordedSource, RadiiOf], Unused]


def _dimension(path: Path) -> None:
    draw_dimension.draw_sampled(dimension.dimension_curves(("exact", "sampled")), path)


def _relaxed(path: Path) -> None:
    draw_dimension.draw_relaxed(dimension.dimension_curves(("exact", "relaxed")), path)


def _theorem_1(path: Path) -> None:
    results = [tightness.check_theorem_1(name) for name in tightness.regions()]
    draw_tightness.draw_tightness(results, path)


def _multiclass(path: Path) -> None:
    draw_tightness.draw_multiclass(multiclass.check_multiclass(), path)


def _planes(path: Path) -> None:
    planes = probability_plane.least_probability_plane(), probability_plane.radius_plane()
    ablation.draw_planes(*planes, path)


def _ideal(path: Path) -> None:
    ablation.draw_ideal(probability_plane.ideal_curves(), path)


def _votes(path: Path, source: RecordedSource, radii_of: RadiiOf) -> Unused:
    votes.draw_votes(votes.votes_curves(source.recorded.runs, radii_of), path)
    return source.recorded.broken


def _curves(path: Path, source: RecordedSource, radii_of: RadiiOf) -> Unused:
    runs = runs_needed(source.recorded.runs, ("per-sigma",))
    alone = runs_needed(source.recorded.radii, ("per-sigma",))
    curves = accuracy_curves.accuracy_curves(RecordedAccuracy(runs, radii_of, alone))
    accuracy_curves.draw_accuracy_curves(curves, path)
    return source.recorded.broken


def _class_probability(path: Path, source: RecordedSource, radii_of: RadiiOf) -> Unused:
    bounds = class_probability.imagenet_lower_bounds(source.recorded.runs)
    broken = list(source.recorded.broken)
    if source.logs is not None:
        tiny, unreadable = class_probability.tinyimagenet_lower_bounds(source.logs)
        bounds, broken = tiny + bounds, broken + unreadable
    class_probability.draw_histograms(bounds, path)
    return broken


def _noise_norm(path: Path, source: RecordedSource, radii_of: RadiiOf) -> Unused:
    logs = source.accuracy_by_norm()
    noise_norm.draw_accuracy_by_norm(logs.curves, path)
    return logs.unused


def _heuristic(path: Path, source: RecordedSource, radii_of: RadiiOf) -> Unused:
    sweep = truncation.sweep_runs(source.recorded.runs, SWEEP_MODEL)
    thinned = [run.every(max(len(run) // SWEEP_INPUTS, 1)) for run in sweep]
    truncation.draw_heuristic(truncation.best_percentiles(thinned, radii_of), path)
    return source.recorded.broken


PAPER_FIGURES: dict[str, FigureWithoutData | FigureFromRecord] = {
    "dimension": FigureWithoutData("radius against dimension (Figure 2a)", _dimension),
    "relaxed": FigureWithoutData("relaxed concentration (appendix)", _relaxed),
    "theorem-1": FigureWithoutData("Theorem 1 in the plane", _theorem_1),
    "multiclass": FigureWithoutData("its corollary for three classes", _multiclass),
    "probability-plane": FigureWithoutData("C and radius over (P_A, Q_A) (ablation)", _planes),
    "densities": FigureWithoutData("radial densities of the laws", ablation.draw_densities),
    "ideal-bound": FigureWithoutData("radius of a ball classifier (ablation)", _ideal),
    "votes": FigureFromRecord("certified accuracy against votes (Figure 2b)", _votes),
    "curves": FigureFromRecord("certified accuracy curves (appendix)", _curves),
    "class-probability": FigureFromRecord("histograms of P_A (appendix)", _class_probability),
    "noise-norm": FigureFromRecord("accuracy against noise norm (appendix)", _noise_norm),
    "heuristic": FigureFromRecord("the truncation heuristic (appendix)", _heuristic),
}
