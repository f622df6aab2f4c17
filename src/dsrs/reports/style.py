"""One look for every figure and page: colours, dashes, markers, and what they stand for.

The first six colours are those of Okabe and Ito (2008), which colour-blind readers can tell apart;
four darker ones are for reports of many runs, and the last is for what is no run and no method.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dsrs.confidence import Floats
from dsrs.errors import MissingExtra
from dsrs.methods import known_names
from dsrs.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALETTE = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"),
    *("#882255", "#999933", "#332288", "#7A4B2A", "#000000"),
)
DARK_PALETTE = (
    *("#3E9BDC", "#FF8A47", "#2BC79A", "#E29BC6", "#F0C04A", "#9AD0F5"),
    *("#C25684", "#A8A83E", "#8F86E8", "#B5835A", "#FFFFFF"),
)
NEUTRAL = len(PALETTE) - 1
DASHES = (
    *((), (5, 1.6), (1.4, 1.4), (6, 1.6, 1.4, 1.6)),
    *((3, 3), (6, 1.2, 1.2, 1.2, 1.2, 1.2)),
)
MARKERS = ("o", "s", "v", "D")

PRINT_STYLE: dict[Any, Any] = {
    "figure.figsize": (3.4, 2.5),  # one column of a two-column page, in inches
    "figure.dpi": 120,
    "savefig.dpi": 300,
    "figure.constrained_layout.use": True,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#D9D9D9",
    "grid.linewidth": 0.4,
    "lines.linewidth": 1.2,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "pdf.fonttype": 42,  # real fonts, as journals ask for
    "svg.fonttype": "none",
    "svg.hashsalt": "dsrs",  # the same figure gives the same file
}


def method_color(method: str) -> str:
    """The colour of a method where no runs are compared; others than known ones share the next."""
    known = known_names()
    return PALETTE[(known.index(method) if method in known else len(known)) % NEUTRAL]


def run_color(place: int) -> str:
    """The colour of the line at this place, in figures that have one line a run."""
    return PALETTE[place % NEUTRAL]


def dash(number: int) -> tuple[float, ...]:
    """The dash pattern of this number; a solid line is ()."""
    return DASHES[number % len(DASHES)]


def palette_css() -> str:
    """The palette as variables of a page, on light and on dark paper."""

    def variables(colors: tuple[str, ...]) -> str:
        return "".join(f"--series-{place}:{color};" for place, color in enumerate(colors))

    return (
        f":root{{{variables(PALETTE)}}}\n"
        f"@media screen and (prefers-color-scheme: dark){{:root{{{variables(DARK_PALETTE)}}}}}\n"
    )


def accuracy_steps(axes: Axes, radii: Floats, **look: Any) -> None:
    """Draw the percentage of inputs with at least each radius: a step down at every radius.

    Args:
        axes: where to draw.
        radii: of every input; 0 where nothing is certified.
        look: how matplotlib draws the line.
    """
    proved = np.sort(radii[radii > 0])
    shares = 100 * np.arange(len(proved), 0, -1) / len(radii)
    if len(proved):
        ends = [0.0, *proved, proved[-1]]
        axes.step(ends, [shares[0], *shares, 0.0], where="pre", **look)


@contextmanager
def print_style() -> Iterator[None]:
    """Draw with the print style, whatever the user's own settings are."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("matplotlib", "report") from None
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(PRINT_STYLE)
        yield


# ---- Which colour, dash and marker stand for what: a colour has one meaning in a whole report
#
# Where runs are compared the colour says the run, and dash and marker say the method; envelopes are
# of no run, and have colours after those of the runs: one for each curve, or where these are too
# few one for each family. Of a single run the colour says the method too, and what is of no method
# is neutral. A line that is a run's, and no method's, has the dash of its run, since such lines may
# lie on each other. A place is an index of `PALETTE`.


class Looks:
    """The looks of one report.

    Args:
        runs: names of the runs, in the order of tables.
        methods: of all runs.
        envelopes: family and method of each curve.
    """

    def __init__(
        self,
        runs: Sequence[str],
        methods: Iterable[str],
        envelopes: Sequence[tuple[str, str]] = (),
    ) -> None:
        several = len(runs) > 1
        self.runs = {
            name: place % NEUTRAL if several else NEUTRAL for place, name in enumerate(runs)
        }
        families = list(dict.fromkeys(family for family, _ in envelopes))
        enough = len(runs) + len(envelopes) <= NEUTRAL
        self.envelopes = {
            curve: (len(runs) + (i if enough else families.index(curve[0]))) % NEUTRAL
            for i, curve in enumerate(envelopes)
        }
        self.methods = _method_places(dict.fromkeys(methods))
        self._colored_by_run = several

    def line(self, run: str, method: str) -> int:
        """The place of the colour of a line or points of one run and method."""
        return self.runs[run] if self._colored_by_run else self.methods[method]

    def pattern(self, method: str) -> int:
        """The number of the dash of a method; the marker has the number before, for no baseline."""
        return list(self.methods).index(method)


def looks_of(report: Report) -> Looks:
    """The looks of everything that a report shows."""
    return Looks(
        [run.name for run in report.runs],
        [method for run in report.runs for method in run.methods],
        [(curve.run, curve.method) for curve in report.series.envelopes],
    )


def _method_places(methods: Iterable[str]) -> dict[str, int]:
    """Methods in the order of dashes: known ones have their own colours, others what is free."""
    known = known_names()
    places = {method: known.index(method) % NEUTRAL for method in known if method in methods}
    others = [method for method in methods if method not in places]
    order = [*range(len(known), NEUTRAL), *range(len(known))]
    free = [place for place in order if place not in places.values()] or order
    return places | {method: free[i % len(free)] for i, method in enumerate(others)}
