"""The paper's figures by name, and how each is drawn from the recorded data or from none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reproduction import figures_of_record as record
from reproduction import figures_of_theory as theory
from reproduction.growth import dimension_curves
from reproduction.plane import check_multiclass, check_theorem_1, regions
from reproduction.sources import RecordedSource
from reproduction.tables import RadiiOf, RecordedAccuracy, runs_needed

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
    theory.draw_sampled(dimension_curves(("exact", "sampled")), path)


def _relaxed(path: Path) -> None:
    theory.draw_relaxed(dimension_curves(("exact", "relaxed")), path)


def _theorem_1(path: Path) -> None:
    results = [check_theorem_1(name) for name in regions()]
    theory.draw_tightness(results, path)


def _multiclass(path: Path) -> None:
    theory.draw_multiclass(check_multiclass(), path)


def _planes(path: Path) -> None:
    planes = theory.least_probability_plane(), theory.radius_plane()
    theory.draw_planes(*planes, path)


def _ideal(path: Path) -> None:
    theory.draw_ideal(theory.ideal_curves(), path)


def _votes(path: Path, source: RecordedSource, radii_of: RadiiOf) -> Unused:
    record.draw_votes(record.votes_curves(source.recorded.runs, radii_of), path)
    return source.recorded.broken


def _curves(path: Path, source: RecordedSource, radii_of: RadiiOf) -> Unused:
    runs = runs_needed(source.recorded.runs, ("per-sigma",))
    alone = runs_needed(source.recorded.radii, ("per-sigma",))
    curves = record.accuracy_curves(RecordedAccuracy(runs, radii_of, alone))
    record.draw_accuracy_curves(curves, path)
    return source.recorded.broken


def _class_probability(path: Path, source: RecordedSource, radii_of: RadiiOf) -> Unused:
    bounds = record.imagenet_lower_bounds(source.recorded.runs)
    broken = list(source.recorded.broken)
    if source.logs is not None:
        tiny, unreadable = record.tinyimagenet_lower_bounds(source.logs)
        bounds, broken = tiny + bounds, broken + unreadable
    record.draw_histograms(bounds, path)
    return broken


def _noise_norm(path: Path, source: RecordedSource, radii_of: RadiiOf) -> Unused:
    logs = source.accuracy_by_norm()
    record.draw_accuracy_by_norm(logs.curves, path)
    return logs.unused


def _heuristic(path: Path, source: RecordedSource, radii_of: RadiiOf) -> Unused:
    sweep = record.sweep_runs(source.recorded.runs, SWEEP_MODEL)
    thinned = [run.every(max(len(run) // SWEEP_INPUTS, 1)) for run in sweep]
    record.draw_heuristic(record.best_percentiles(thinned, radii_of), path)
    return source.recorded.broken


PAPER_FIGURES: dict[str, FigureWithoutData | FigureFromRecord] = {
    "dimension": FigureWithoutData("radius against dimension (Figure 2a)", _dimension),
    "relaxed": FigureWithoutData("relaxed concentration (appendix)", _relaxed),
    "theorem-1": FigureWithoutData("Theorem 1 in the plane", _theorem_1),
    "multiclass": FigureWithoutData("its corollary for three classes", _multiclass),
    "probability-plane": FigureWithoutData("C and radius over (P_A, Q_A) (ablation)", _planes),
    "densities": FigureWithoutData("radial densities of the laws", theory.draw_densities),
    "ideal-bound": FigureWithoutData("radius of a ball classifier (ablation)", _ideal),
    "votes": FigureFromRecord("certified accuracy against votes (Figure 2b)", _votes),
    "curves": FigureFromRecord("certified accuracy curves (appendix)", _curves),
    "class-probability": FigureFromRecord("histograms of P_A (appendix)", _class_probability),
    "noise-norm": FigureFromRecord("accuracy against noise norm (appendix)", _noise_norm),
    "heuristic": FigureFromRecord("the truncation heuristic (appendix)", _heuristic),
}
