"""The predicted curves of a choice of law, and the line that no law could exceed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dsrs.confidence.bootstrap import Floats
from dsrs.files.whole import whole_file
from dsrs.reports.figures import checked_formats, place_legend
from dsrs.reports.style import method_color, print_style
from dsrs.reports.summary import method_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dsrs.tuning import Forecast, Tuned


def draw_tuning(tuned: Tuned, path: Path) -> None:
    """Certified accuracy against radius as it is predicted: best law, current law, and limit."""
    suffix = path.suffix.removeprefix(".")
    checked_formats([suffix])
    with print_style():
        from matplotlib.figure import Figure

        figure = Figure()
        axes = figure.subplots()
        _steps(axes, tuned.limits, color="#7F7F7F", dashes=(1, 1), label="no law exceeds this")
        _steps(axes, tuned.routed, color="#7F7F7F", dashes=(4, 1), label="best law of each input")
        for name, forecast in (
            ("best", tuned.best),
            *(("now", each) for each in tuned.current[:1]),
        ):
            _steps(
                axes,
                forecast.radii,
                color=method_color(forecast.method.partition(":")[0]),
                dashes=() if name == "best" else (5, 1.6),
                label=f"{name}: {_law(forecast)}",
            )
        axes.set_xlabel(r"$\ell_2$ radius $r$")
        axes.set_ylabel("predicted certified accuracy (%)")
        axes.set_xlim(left=0)
        axes.set_ylim(0, 102)
        place_legend(figure, axes)
        with whole_file(path) as stream:
            figure.savefig(stream, format=suffix)


def _steps(axes: Axes, radii: Floats, **look: Any) -> None:
    """The share of inputs with at least each radius: a step down at every radius."""
    proved = np.sort(radii[radii > 0])
    shares = 100 * np.arange(len(proved), 0, -1) / len(radii)
    if len(proved):
        ends = [0.0, *proved, proved[-1]]
        axes.step(ends, [shares[0], *shares, 0.0], where="pre", **look)


def _law(forecast: Forecast) -> str:
    shape = "" if forecast.law.k == 0 else f", k = {forecast.law.k:g}"
    name = method_name(forecast.method.partition(":")[0])
    return rf"$\sigma$ = {forecast.law.sigma:.3g}{shape}, {name}"
