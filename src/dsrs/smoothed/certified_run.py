"""Many certified inputs: a run folder, temporary until it is saved, with table and picture."""

from __future__ import annotations

import io
import math
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.datasets import as_array
from dsrs.errors import InvalidInput, MissingExtra
from dsrs.exchange import rows_of
from dsrs.files import Readable
from dsrs.laws import shown
from dsrs.measures import MethodAccuracy, certified_accuracy, floor_text, percent
from dsrs.proofs import Certificate
from dsrs.reports import draw_figures, make_report, read_run
from dsrs.store import RunResult, merge_runs, open_run

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

# Columns of a table for programs, which say little to a person or too much.
NOT_IN_FRAMES = ("proof",)


class Folder:
    """A run folder: that of the user, or a temporary one that goes with its last holder."""

    def __init__(self, path: str | Path | None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="dsrs-run-")) if path is None else Path(path)
        self._remove = (
            weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
            if path is None
            else None
        )

    @property
    def temporary(self) -> bool:
        """Whether nothing of it will be left."""
        return self._remove is not None

    def keep(self, target: Path) -> None:
        """Have the run in the folder `target`, new or with a part of the same run."""
        merge_runs([self.path], target)
        if self._remove is not None:
            self._remove()
        self.path, self._remove = target, None


class CertifiedRun(Readable):
    """What `SmoothedClassifier.certify` proved of many inputs, in their order.

    `run[i]` is the certificate of input i, `len(run)` how many there are. Certificates are for the
    labels where there are some, and else for the classes that were predicted.

    Args:
        folder: the run folder that holds votes and certificates.
        indices: the numbers of the inputs in the run, in the order of `run[0]`, `run[1]`, ...
    """

    def __init__(self, folder: Folder, indices: Sequence[int]) -> None:
        self._folder = folder
        self.indices = tuple(indices)

    @property
    def path(self) -> Path:
        """The run folder; a temporary one before `save`."""
        return self._folder.path

    def __fspath__(self) -> str:
        return str(self.path)

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[Certificate]:
        return (_only(result) for result in self.results)

    def __getitem__(self, place: int) -> Certificate:
        if not isinstance(place, int | np.integer):
            raise InvalidInput(f"expected the place of an input, such as 0, got {shown(place)}")
        if not -len(self) <= place < len(self):
            raise InvalidInput(f"expected an input from 0 to {len(self) - 1}, got {place}")
        return _only(self.results[place])

    @cached_property
    def results(self) -> list[RunResult]:
        """Votes and certificate of each input."""
        with open_run(self.path) as run:
            return [run.result(index) for index in self.indices]

    @property
    def radii(self) -> NDArray[np.float64]:
        """The certified l2 radius of each input; 0 where nothing is certified."""
        return np.array([certificate.radius for certificate in self])

    def accuracy(self, radii: ArrayLike = 0.0) -> Any:
        """Return the certified accuracy: the share of inputs certified for their label.

        Args:
            radii: one radius, which gives one number, or several, which give an array.
        """
        asked = as_array(radii, "`radii`")
        if asked.dtype.kind not in "fiu" or not np.all(asked >= 0) or asked.ndim > 1:
            raise InvalidInput(f"`radii` must be numbers from 0 on, got {radii!r}")
        found = self._measured(np.atleast_1d(asked).astype(float).tolist())
        shares = np.array([found.share(place) for place in range(len(found.radii))])
        return shares if asked.ndim else float(shares[0])

    def to_frame(self) -> pandas.DataFrame:
        """A table (pandas) with a row for each input: label, status, radius, bounds, cost."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra("pandas", "frame") from None
        with open_run(self.path) as run:
            rows = [asdict(row) for row in rows_of(self.results, run.config["plan"])]
        frame = pandas.DataFrame(rows).drop(columns=[*NOT_IN_FRAMES])
        return frame.dropna(axis="columns", how="all").set_index("index")

    def plot(self) -> Figure:
        """Certified accuracy against radius (a matplotlib figure, which notebooks show)."""
        try:
            figure = draw_figures(make_report([read_run(self.path)]))["certified-accuracy"]
        except ImportError:
            raise MissingExtra("matplotlib", "report") from None

        def png() -> bytes:
            figure.savefig(content := io.BytesIO(), format="png")
            return content.getvalue()

        # Figures that pyplot has not made are shown by notebooks only if they know how.
        figure._repr_png_ = png  # type: ignore[attr-defined]
        return figure

    def save(self, path: str | Path) -> Path:
        """Keep the run in a folder, new or with a part of the same run; return it.

        It is the folder that `dsrs certify` writes: `dsrs report`, `show`, `check`, `recertify`
        and `merge` read it, and `certify(..., save=path)` continues it.

        Args:
            path: the folder.
        """
        target = Path(path)
        if target.resolve() != self.path.resolve():
            self._folder.keep(target)
        return target

    def facts(self) -> dict[str, object]:
        """What a person wants to know first."""
        found = self._measured(None)
        certificates = list(self)
        proved = sum(one.status == "certified" for one in certificates)
        shown = [
            f"{percent(Fraction(count, found.total), 0)} % at {radius:g}"
            for radius, count in zip(found.radii, found.correct, strict=True)
        ]
        mean = found.average_radius
        return {
            "inputs": len(self),
            "certified": proved,
            "certified accuracy": ", ".join(shown),
            "mean certified radius": floor_text(mean, 4) if math.isfinite(mean) else "infinite",
            "noise": certificates[0].law.describe(),
            "folder": "not saved" if self._folder.temporary else self.path,
        }

    def _measured(self, radii: Sequence[float] | None) -> MethodAccuracy:
        (found,) = certified_accuracy(self.results, radii)
        return found


def _only(result: RunResult) -> Certificate:
    """The certificate of the run's only method."""
    (certificate,) = result.certificates.values()
    return certificate
