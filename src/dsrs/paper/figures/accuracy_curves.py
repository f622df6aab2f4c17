"""Certified accuracy against the radius, the best sigma at each: the main table as nine curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dsrs.errors import NotRecorded
from dsrs.paper.figures.canvas import canvas
from dsrs.paper.recorded import Floats
from dsrs.paper.recorded_accuracy import RecordedAccuracy
from dsrs.paper.table_runs import TABLE_SIGMAS, cell_key
from dsrs.paper.titles import DATASET_TITLES, TRAINING_TITLES
from dsrs.reports.style import method_color

CURVE_DATASETS = ("mnist", "cifar10", "imagenet")
CURVE_TRAININGS = ("gaussian", "consistency", "smoothmix")
CURVE_RADII = np.linspace(0, 3.5, 701)
LINES = {
    "neyman-pearson": ("Neyman-Pearson", "np", (4, 2)),
    "dsrs": ("double sampling", "rescaled", ()),
}


@dataclass(frozen=True, slots=True)
class AccuracyCurve:
    """Percents at `CURVE_RADII`, the best over `sigmas`; empty if none was recorded.

    `as_recorded` are the sigmas whose radii could not be certified again.
    """

    dataset: str
    training: str
    certification: str
    sigmas: tuple[float, ...]
    as_recorded: tuple[float, ...]
    percents: Floats


def accuracy_curves(recorded: RecordedAccuracy) -> list[AccuracyCurve]:
    """All 18 curves of the paper's figure, as far as they were recorded."""
    curves = []
    for dataset in CURVE_DATASETS:
        for training in CURVE_TRAININGS:
            for certification in LINES:
                found = {
                    sigma: recorded.radii(cell_key(dataset, training, sigma, certification))
                    for sigma in TABLE_SIGMAS
                }
                known = {sigma: radii for sigma, radii in found.items() if radii is not None}
                percents = [_percents(radii.ours) for radii in known.values()]
                curves.append(
                    AccuracyCurve(
                        dataset,
                        training,
                        certification,
                        tuple(known),
                        tuple(s for s, radii in known.items() if radii.source == "recorded"),
                        np.max(percents, axis=0) if percents else np.empty(0),
                    )
                )
    if not any(len(curve.percents) for curve in curves):
        raise NotRecorded("the curves need the recorded runs of the paper's main table, found none")
    return curves


def draw_accuracy_curves(curves: Sequence[AccuracyCurve], path: Path) -> None:
    """One panel for each data set and recorded training; its title says what is missing."""
    recorded = {curve.training for curve in curves if len(curve.percents)}
    trainings = [training for training in CURVE_TRAININGS if training in recorded]
    with canvas(
        path, len(trainings), len(CURVE_DATASETS), width=2.6, height=2.0, dpi=150
    ) as panels:
        places = [(dataset, training) for dataset in CURVE_DATASETS for training in trainings]
        for axes, (dataset, training) in zip(panels, places, strict=True):
            members = [c for c in curves if (c.dataset, c.training) == (dataset, training)]
            notes = _notes(members)
            title = f"{DATASET_TITLES[dataset]}, {TRAINING_TITLES[training]}"
            axes.set_title("\n".join([title, *notes]), fontsize=7)
            if not any(len(curve.percents) for curve in members):
                axes.text(0.5, 0.5, "not recorded", ha="center", transform=axes.transAxes)
                axes.set_axis_off()
                continue
            for curve in members:
                if not len(curve.percents):
                    continue
                label, method, dashes = LINES[curve.certification]
                axes.step(
                    CURVE_RADII,
                    curve.percents,
                    where="pre",
                    color=method_color(method),
                    dashes=dashes,
                    label=label,
                )
            axes.set(xlim=(0, CURVE_RADII[-1]), ylim=(0, 100))
            axes.legend(loc="upper right")
        for axes in panels[:: len(trainings)]:
            axes.set_ylabel("certified accuracy (%)")
        for axes in panels[-len(trainings) :]:
            axes.set_xlabel(r"$\ell_2$ radius")


def _percents(radii: Floats) -> Floats:
    # At r = 0 an abstained input, whose radius is 0, is not certified.
    at_least = np.maximum(CURVE_RADII, np.nextafter(0.0, 1.0))
    ordered = np.sort(radii)
    return 100 * (1 - np.searchsorted(ordered, at_least, side="left") / len(radii))


def _notes(members: Sequence[AccuracyCurve]) -> list[str]:
    """What the curves of a panel lack: all of them together, or each by its name."""
    notes = []
    if len({curve.sigmas for curve in members}) == 1:
        if 0 < len(members[0].sigmas) < len(TABLE_SIGMAS):
            notes.append(f"only {_listed(members[0].sigmas)}")
    else:
        for curve in members:
            if len(curve.sigmas) < len(TABLE_SIGMAS):
                missing = f"only {_listed(curve.sigmas)}" if curve.sigmas else "not recorded"
                notes.append(f"{LINES[curve.certification][0]}: {missing}")
    for curve in members:
        if curve.as_recorded:
            label = LINES[curve.certification][0]
            notes.append(f"{label} at {_listed(curve.as_recorded)} as recorded")
    return notes


def _listed(sigmas: tuple[float, ...]) -> str:
    return rf"$\sigma$ = {' and '.join(f'{sigma:g}' for sigma in sigmas)}"
