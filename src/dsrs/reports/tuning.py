"""The predicted curves of a choice of law, and the line that no law could exceed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.files import whole_file
from dsrs.reports.figures import checked_formats, place_legend
from dsrs.reports.style import accuracy_steps, method_color, print_style
from dsrs.reports.summary import method_name

if TYPE_CHECKING:
    from dsrs.tuning import Forecast, Tuned


def draw_tuning(tuned: Tuned, path: Path) -> None:
    """Certified accuracy against radius as it is predicted: best law, current law, and limit."""
    suffix = path.suffix.removeprefix(".")
    checked_formats([suffix])
    with print_style():
        from matplotlib.figure import Figure

        figure = Figure()
        axes = figure.subplots()
        limit = {"color": "#7F7F7F", "dashes": (1, 1), "label": "no law exceeds this"}
        accuracy_steps(axes, tuned.limits, **limit)
        for name, forecast in (
            ("best", tuned.best),
            *(("now", each) for each in tuned.current[:1]),
        ):
            accuracy_steps(
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


def _law(forecast: Forecast) -> str:
    shape = "" if forecast.law.k == 0 else f", k = {forecast.law.k:g}"
    name = method_name(forecast.method.partition(":")[0])
    return rf"$\sigma$ = {forecast.law.sigma:.3g}{shape}, {name}"
