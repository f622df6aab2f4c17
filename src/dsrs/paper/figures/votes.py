"""Figure 2b: certified accuracy against the radius on a denoised ImageNet model, as n grows.

The model is that of Salman et al. (sigma = 0.5), smoothed with k = d/2 - 4. Double sampling has
50,000 votes under P and n under Q, which is P truncated by the rule `x2`; alpha = 0.0005 for each.
Neyman-Pearson has n votes under P and alpha = 0.001.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dsrs.errors import NotRecorded
from dsrs.paper.figures.canvas import canvas
from dsrs.paper.recorded import Floats, RecordedRun
from dsrs.paper.recorded_accuracy import RadiiOf
from dsrs.reports.style import accuracy_steps

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
