"""What the figures show, as plain numbers: the page and the print figures draw the same series.

Radii and accuracies are rounded down to `SHOWN_DIGITS` decimals here, once, for every drawing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dsrs.confidence import Floats, Resampling
from dsrs.errors import InvalidInput
from dsrs.laws import HISTOGRAM_BINS
from dsrs.measures import floor_number, nearest_number
from dsrs.reports.headers import SHOWN_DIGITS, AttackGap, attack_gap, has_gap
from dsrs.reports.measures import measure_run, shared_methods, sigma_families
from dsrs.reports.summary import BASELINE, Outcome, RunSummary

GAIN_RADII = 60
UNDEFENDED_TITLE = "model without noise (no guarantee)"
BAND = (0.1, 0.9)  # share of inputs that the band of the radial figure leaves out below and above


@dataclass(frozen=True, slots=True)
class StepCurve:
    """Certified accuracy is `accuracy[i]` for all radii in (radius[i-1], radius[i]]."""

    run: str
    method: str
    radius: tuple[float, ...]
    accuracy: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Undefended:
    """The accuracy of the model without noise, of which nothing is guaranteed.

    `run` is empty where all runs that know it have the same.
    """

    run: str
    accuracy: float


@dataclass(frozen=True, slots=True)
class GainBand:
    """Gain in certified accuracy over the baseline at each radius, with its paired interval."""

    run: str
    method: str
    radius: tuple[float, ...]
    gain: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class InputPoints:
    """One point for each input certified for its label: both radii, and the estimate of P_A."""

    run: str
    method: str
    index: tuple[int, ...]
    baseline: tuple[float, ...]
    radius: tuple[float, ...]
    gain: tuple[float, ...]
    p: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class ProbabilityCurve:
    """The share of `inputs` whose estimate of P_A is `p[i]` or less, which is `share[i]`."""

    run: str
    inputs: int
    p: tuple[float, ...]
    share: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RadialAccuracy:
    """Accuracy under noise of each norm, over rightly predicted inputs, and the norm's density.

    The bins hold equal mass of P; `norm` is the middle of each in probability.
    """

    run: str
    inputs: int
    norm: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    density: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FigureSeries:
    """Everything that is drawn."""

    curves: tuple[StepCurve, ...]
    undefended: tuple[Undefended, ...]
    envelopes: tuple[StepCurve, ...]
    gains: tuple[GainBand, ...]
    points: tuple[InputPoints, ...]
    probabilities: tuple[ProbabilityCurve, ...]
    radial: tuple[RadialAccuracy, ...]
    gaps: tuple[AttackGap, ...]


def figure_series(runs: Sequence[RunSummary], resampling: Resampling) -> FigureSeries:
    """The series of all figures; those that need votes leave out runs without them."""
    return FigureSeries(
        curves=tuple(
            step_curve(run.name, method, run.proved_radii(method))
            for run in runs
            for method in run.methods
        ),
        undefended=undefended(runs),
        envelopes=tuple(_envelope_curves(runs)),
        gains=tuple(band for run in runs for band in gain_bands(run, resampling)),
        points=tuple(input_points(run, method) for run in runs for method in run.challengers),
        probabilities=tuple(
            probability_curve(run)
            for run in runs
            if any(outcome.trials for outcome in run.outcomes)
        ),
        radial=on_one_axis([radial_accuracy(run) for run in runs if _radially_voted(run)]),
        gaps=tuple(attack_gap(run) for run in runs if has_gap(run)),
    )


def undefended(runs: Sequence[RunSummary]) -> tuple[Undefended, ...]:
    """The accuracy of the models of these runs without noise, where it is known."""
    known = {run.name: run.undefended_accuracy for run in runs}
    shares = {
        name: floor_number(share, SHOWN_DIGITS)
        for name, share in known.items()
        if share is not None
    }
    if len(set(shares.values())) == 1:
        return (Undefended("", next(iter(shares.values()))),)
    return tuple(Undefended(name, share) for name, share in shares.items())


def step_curve(run: str, method: str, *proved: Floats) -> StepCurve:
    """The certified accuracy of the best of these columns of proved radii, at every radius."""
    everywhere = np.concatenate(proved)
    radii = np.concatenate([[0.0], np.unique(everywhere[everywhere > 0])])
    counts = np.max([_at_least(column, radii) for column in proved], axis=0)
    # Only where the accuracy drops next does a step end.
    ends = np.append(counts[1:] < counts[:-1], True)
    ends[0] = True
    size = len(proved[0])
    return StepCurve(
        run=run,
        method=method,
        radius=tuple(floor_number(r, SHOWN_DIGITS) for r in radii[ends].tolist()),
        accuracy=tuple(
            floor_number(Fraction(c, size), SHOWN_DIGITS) for c in counts[ends].tolist()
        ),
    )


def gain_bands(run: RunSummary, resampling: Resampling) -> list[GainBand]:
    """The paired gain over the baseline on a fine grid of radii."""
    if not run.challengers:
        return []
    largest = max(float(run.proved_radii(method).max()) for method in run.methods)
    if not largest > 0:
        return []
    steps = np.linspace(0.0, largest, GAIN_RADII)
    grid = sorted({floor_number(radius, SHOWN_DIGITS) for radius in steps.tolist()})

    def nearest(values: Iterable[Fraction]) -> tuple[float, ...]:
        return tuple(nearest_number(value, SHOWN_DIGITS) for value in values)

    return [
        GainBand(
            run=run.name,
            method=gain.method,
            radius=tuple(grid),
            gain=nearest(estimate.value for estimate in gain.certified_accuracy),
            low=nearest(estimate.low for estimate in gain.certified_accuracy),
            high=nearest(estimate.high for estimate in gain.certified_accuracy),
        )
        for gain in measure_run(run, grid, resampling).gains
    ]


def input_points(run: RunSummary, method: str) -> InputPoints:
    """Both radii of every input, unless another class than its label was tried; 0 is abstained."""
    shown = [outcome for outcome in run.outcomes if outcome.for_label]
    return InputPoints(
        run=run.name,
        method=method,
        index=tuple(outcome.index for outcome in shown),
        baseline=tuple(floor_number(outcome.radius(BASELINE), SHOWN_DIGITS) for outcome in shown),
        radius=tuple(floor_number(outcome.radius(method), SHOWN_DIGITS) for outcome in shown),
        gain=tuple(nearest_number(outcome.gain(method), SHOWN_DIGITS) for outcome in shown),
        p=tuple(
            None if share is None else floor_number(share, SHOWN_DIGITS)
            for share in (outcome.p_estimate for outcome in shown)
        ),
    )


def probability_curve(run: RunSummary) -> ProbabilityCurve:
    """The empirical distribution of the estimates of P_A over the inputs with votes under P."""
    shares = [one.p_estimate for one in run.outcomes]
    known = np.array([share for share in shares if share is not None])
    values, counts = np.unique(known, return_counts=True)
    return ProbabilityCurve(
        run=run.name,
        inputs=len(known),
        p=tuple(floor_number(value, SHOWN_DIGITS) for value in values.tolist()),
        share=tuple(
            nearest_number(Fraction(count, len(known)), SHOWN_DIGITS)
            for count in np.cumsum(counts).tolist()
        ),
    )


def on_one_axis(found: Sequence[RadialAccuracy]) -> tuple[RadialAccuracy, ...]:
    """These curves if one axis of noise norms shows them, else none.

    Gaussian noise in many dimensions has hardly more than one norm: runs at different sigma would
    be specks on an empty axis.
    """
    ranges = sorted((min(one.norm), max(one.norm)) for one in found)
    reached = ranges[0][1] if ranges else 0.0
    for low, high in ranges:
        if low > reached:
            return ()
        reached = max(reached, high)
    return tuple(found)


def radial_accuracy(run: RunSummary) -> RadialAccuracy:
    """Votes for the right class by noise norm: the paper's picture of concentration."""
    shown, law = _radially_voted(run), run.law
    if law is None:
        raise InvalidInput(f"the noise norms of {run.name!r} need its law, which is not known")
    trials = np.array([outcome.trials for outcome in shown], dtype=np.float64)
    hits = np.array([outcome.hits for outcome in shown], dtype=np.float64)
    seen = trials.sum(axis=0) > 0
    middles = (np.arange(HISTOGRAM_BINS) + 0.5) / HISTOGRAM_BINS
    norms = law.radial_quantile(middles)
    shares = np.full_like(trials, np.nan)
    np.divide(hits, trials, out=shares, where=trials > 0)
    low, high = np.nanquantile(shares[:, seen], BAND, axis=0)

    def floored(values: Floats) -> tuple[float, ...]:
        return tuple(floor_number(value, SHOWN_DIGITS) for value in values.tolist())

    return RadialAccuracy(
        run=run.name,
        inputs=len(shown),
        norm=floored(norms[seen]),
        mean=floored(np.nanmean(shares[:, seen], axis=0)),
        low=floored(low),
        high=floored(high),
        density=tuple(law.radial_pdf(norms[seen]).tolist()),
    )


def _envelope_curves(runs: Sequence[RunSummary]) -> list[StepCurve]:
    return [
        step_curve(family, method, *(run.proved_radii(method) for run in members))
        for family, members in sigma_families(runs).items()
        for method in shared_methods(members)
    ]


def _at_least(proved: Floats, radii: Floats) -> NDArray[np.int64]:
    """How many of the proved radii reach each radius."""
    return len(proved) - np.searchsorted(np.sort(proved), radii, side="left")


def _radially_voted(run: RunSummary) -> list[Outcome]:
    """Inputs whose hits are votes for the right class."""
    return [
        outcome
        for outcome in run.outcomes
        if outcome.right and outcome.for_label and outcome.trials
    ]
