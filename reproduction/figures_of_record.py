"""The paper's figures that show recorded data.

- Certified accuracy against the radius, the best sigma at each: the main table as nine curves.
- Histograms of P_A on TinyImageNet and ImageNet (appendix). The two data sets show the same kind of
  images at different sizes, smoothed with the same sigma = 0.5 and m = 4. Of the inputs with P- >
  1/2 it shows 1 - P- in steps of about 3. Where a training has no log of ImageNet at this sigma,
  the next larger sigma stands in, whose P- are smaller.
- Accuracy against the norm of the noise, the look at a model that shows its concentration.
- The truncation heuristic against the percentiles that were best for each input (appendix).
- Figure 2b: certified accuracy against the radius on a denoised ImageNet model, as n grows. The
  model is that of Salman et al. (sigma = 0.5), smoothed with k = d/2 - 4. Double sampling has
  50,000 votes under P and n under Q, which is P truncated by the rule `x2`; alpha = 0.0005 for
  each. Neyman-Pearson has n votes under P and alpha = 0.001.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dsrs.errors import DataError, NotRecorded
from dsrs.laws import heuristic_percentile
from dsrs.reports import accuracy_steps, method_color, run_color
from reproduction.figures_of_theory import canvas
from reproduction.logs import read_sampling_log
from reproduction.recorded import RECORDED_TRAININGS, AccuracyByNorm, Floats, RecordedRun
from reproduction.tables import TABLE_SIGMAS, RadiiOf, RecordedAccuracy, cell_key

DATASET_TITLES = {
    "mnist": "MNIST",
    "cifar10": "CIFAR-10",
    "cifar": "CIFAR-10",
    "tinyimagenet": "TinyImageNet",
    "imagenet": "ImageNet",
}
TRAINING_TITLES = {
    "gaussian": "Gaussian augmentation",
    "consistency": "Consistency",
    "smoothmix": "SmoothMix",
    "salman": "SmoothAdv (Salman et al.)",
}


def model_title(model: str) -> str:
    """`cohen-mnist-380-1.00` is "MNIST, Gaussian augmentation" over "k = 380, sigma = 1.00".

    A word that is not known is shown as it is.
    """
    training, *words = model.split("-")
    name = RECORDED_TRAININGS.get(training, training)
    names, parts = [TRAINING_TITLES.get(name, name)], []
    for word in words:
        if word in DATASET_TITLES:
            names.insert(0, DATASET_TITLES[word])
        elif re.fullmatch(r"\d+", word):
            parts.append(f"$k$ = {word}")
        elif re.fullmatch(r"\d+\.\d+", word):
            parts.append(rf"$\sigma$ = {word}")
        else:
            parts.append(word)
    return "\n".join(", ".join(line) for line in (names, parts) if line)


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


PANELS_PER_ROW = 3


def draw_accuracy_by_norm(curves: Sequence[AccuracyByNorm], path: Path) -> None:
    """One panel a model: a line for each input, and the density of the noise norm under P.

    P is the law that the model was trained for, and its density is scaled to height 1.
    """
    ordered = sorted(curves, key=lambda curve: curve.model)
    columns = 2 if len(ordered) == 4 else min(PANELS_PER_ROW, len(ordered))
    rows = -(-len(ordered) // columns)
    with canvas(path, columns, rows, width=2.9, height=2.2, dpi=130) as panels:
        for axes, curve in zip(panels, ordered, strict=False):
            inputs = np.unique(curve.index)
            for index in inputs:
                of_input = curve.index == index
                axes.plot(
                    curve.noise_norm[of_input],
                    100 * curve.accuracy[of_input],
                    color=method_color("np"),
                    # Few lines may be strong, many must let each other be seen.
                    alpha=max(0.15, min(1.0, 8 / len(inputs))),
                    linewidth=0.6,
                )
            norms = np.linspace(0, float(curve.noise_norm.max()), 400)
            # Its height is that over all norms, also where the spheres do not reach the noise.
            usual = curve.law.radial_quantile(np.linspace(0.01, 0.99, 99))
            height = 100 * curve.law.radial_pdf(norms) / curve.law.radial_pdf(usual).max()
            axes.fill_between(
                norms,
                height,
                color=method_color("rescaled"),
                alpha=0.25,
                linewidth=0,
                label="density of the noise norm",
            )
            axes.set(xlabel=f"noise norm ({len(inputs)} inputs)", ylim=(0, 102))
            axes.set_title(model_title(curve.model), fontsize=7)
        for axes in panels[len(ordered) :]:
            axes.set_axis_off()
        for axes in panels[::columns]:
            axes.set_ylabel("accuracy (%)")
        panels[0].plot([], [], color=method_color("np"), linewidth=0.6, label="an input")
        handles, labels = panels[0].get_legend_handles_labels()
        axes.figure.legend(handles, labels, loc="outside lower center", ncols=2)


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


MODEL = "salman-imagenet-0.50"
K = 75260.0
FIGURE_VOTES = (50_000, 100_000, 200_000, 400_000, 800_000)
# From pale to deep with n, because the curves are ordered.
DOUBLE_COLORS = ("#FDAE6B", "#FD8D3C", "#F16913", "#D94801", "#7F2704")
SINGLE_COLORS = ("#9ECAE1", "#4292C6", "#08519C")


@dataclass(frozen=True, slots=True)
class VotesCurve:
    """The radii of one run with n votes; `double` for double sampling."""

    double: bool
    n: int
    radii: Floats


def votes_curves(runs: Sequence[RecordedRun], radii_of: RadiiOf) -> list[VotesCurve]:
    """Neyman-Pearson and double sampling for every recorded n."""
    found = {}
    for run in runs:
        name = run.name
        if name.model != MODEL or name.law.k != K:
            continue
        if (name.q_shape, name.alpha) == (None, 0.001):
            found[False, name.n] = run
        elif (name.rule, name.alpha) == ("x2", 0.0005):
            found[True, name.n] = run
    missing = [n for n in FIGURE_VOTES if (True, n) not in found]
    if missing:
        raise NotRecorded(
            f"the figure needs runs of {MODEL} under rule x2 with n = "
            f"{', '.join(f'{n:,}' for n in missing)}, which are not there"
        )
    return [VotesCurve(double, n, radii_of(run)) for (double, n), run in sorted(found.items())]


def draw_votes(curves: Sequence[VotesCurve], path: Path) -> None:
    """Certified accuracy against the radius, one line a run."""
    end = max(float(curve.radii.max()) for curve in curves)
    with canvas(path, width=6.2) as [axes]:
        for double, colors, name in (
            (False, SINGLE_COLORS, "Neyman-Pearson, {} votes"),
            (True, DOUBLE_COLORS, "double sampling, {} votes under $Q$"),
        ):
            lines = [curve for curve in curves if curve.double == double]
            for curve, color in zip(lines, colors, strict=False):
                accuracy_steps(
                    axes,
                    curve.radii,
                    color=color,
                    dashes=() if double else (4, 2),
                    label=name.format(f"{curve.n:,}"),
                )
        axes.set(
            xlabel=r"certified $\ell_2$ radius",
            ylabel="certified accuracy (%)",
            xlim=(0, end * 1.02),
            ylim=(0, None),
        )
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
