"""Opening and saving of figures in the print style of the reports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dsrs.files.whole import whole_file
from dsrs.reports.style import print_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@contextmanager
def canvas(
    path: Path,
    columns: int = 1,
    rows: int = 1,
    width: float = 4.2,
    height: float = 3.0,
    dpi: int = 200,
) -> Iterator[list[Axes]]:
    """Axes in rows, `width` x `height` inches each; saved to `path` at the end."""
    with print_style():
        # Not pyplot: a figure of our own needs no display and leaves no global state.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width * columns, height * rows))
        FigureCanvasAgg(figure)
        yield list(figure.subplots(rows, columns, squeeze=False).ravel())
        with whole_file(path) as stream:
            figure.savefig(stream, format=path.suffix.removeprefix("."), dpi=dpi)
