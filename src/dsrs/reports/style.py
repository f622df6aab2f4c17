"""One look for every print figure, and the palette that the page shares.

The colours are those of Okabe and Ito (2008), which colour-blind readers can tell apart. Within a
run the colour says the method; where runs are compared it says the run, and the dash the method.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dsrs.confidence.bootstrap import Floats
from dsrs.errors import MissingExtra
from dsrs.methods.registry import known_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DARK_PALETTE = ("#56B4E9", "#FF8A47", "#2BC79A", "#E29BC6", "#F0C04A", "#9AD0F5", "#FFFFFF")
DASHES = ((), (5, 1.6), (1.4, 1.4), (6, 1.6, 1.4, 1.6))
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


def method_place(method: str) -> int:
    """Where in the palette a method stands; an unknown one gets one of the last places."""
    known = known_names()
    if method in known:
        return known.index(method) % len(PALETTE)
    free = max(1, len(PALETTE) - len(known))
    return len(PALETTE) - 1 - sum(method.encode()) % free


def method_color(method: str) -> str:
    """The colour of a method, in every figure of one run."""
    return PALETTE[method_place(method)]


def line_look(runs: Sequence[str], run: str, method: str) -> tuple[str, tuple[float, ...]]:
    """Colour and dash of a line: the dash says the method; so does the colour, of a single run.

    Where there are several runs the colour says the run. Methods often have the same curve; the
    dash lets the one below be seen.
    """
    dash = DASHES[method_place(method) % len(DASHES)]
    return (run_color(runs.index(run)) if len(runs) > 1 else method_color(method)), dash


def run_color(place: int) -> str:
    """The colour of the run at this place, in figures that have one line a run."""
    return PALETTE[place % len(PALETTE)]


def run_dash(place: int) -> tuple[float, ...]:
    """The dash pattern of the run at this place; a solid line is ()."""
    return DASHES[place % len(DASHES)]


def run_marker(place: int) -> str:
    """The marker of the run at this place."""
    return MARKERS[place % len(MARKERS)]


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
