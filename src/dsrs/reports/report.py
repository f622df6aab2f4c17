"""All of a report: the runs, their numbers and their series, checked to belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dsrs.confidence.bootstrap import Resampling
from dsrs.errors import InvalidInput, StoreMismatch
from dsrs.files.readable import Readable
from dsrs.reports.envelope import Envelope, envelopes
from dsrs.reports.measures import RunMeasures, default_radii, measure_run
from dsrs.reports.series import FigureSeries, figure_series
from dsrs.reports.summary import RunSummary


@dataclass(frozen=True, slots=True, repr=False)
class Report(Readable):
    """The content of a report, ready to be written in any format."""

    runs: tuple[RunSummary, ...]
    radii: tuple[float, ...]
    resampling: Resampling
    measures: tuple[RunMeasures, ...]
    envelopes: tuple[Envelope, ...]
    series: FigureSeries

    def facts(self) -> dict[str, object]:
        """What a person wants to know first."""
        return {
            "runs": ", ".join(run.name for run in self.runs),
            "inputs": " and ".join(str(len(run.outcomes)) for run in self.runs),
            "radii": ", ".join(f"{radius:g}" for radius in self.radii),
        }


def make_report(
    runs: Sequence[RunSummary],
    radii: Sequence[float] | None = None,
    resampling: Resampling | None = None,
) -> Report:
    """Compute everything; `radii` is by default a round grid that covers all certified radii."""
    check_comparable(runs)
    drawing = resampling or Resampling()
    grid = tuple(radii) if radii is not None else default_radii(runs)
    return Report(
        runs=tuple(runs),
        radii=grid,
        resampling=drawing,
        measures=tuple(measure_run(run, grid, drawing) for run in runs),
        envelopes=envelopes(runs, grid, drawing),
        series=figure_series(runs, drawing),
    )


def check_comparable(runs: Sequence[RunSummary]) -> None:
    """Refuse runs that do not belong into one report: other data, other labels, one name twice."""
    if not runs:
        raise InvalidInput("a report needs at least one run")
    first, labels = runs[0], {one.index: one.label for one in runs[0].outcomes}
    names = {first.name}
    for run in runs[1:]:
        if run.name in names:
            raise InvalidInput(f"two runs are called {run.name!r}; give each its own name")
        names.add(run.name)
        both = f"the runs {first.name!r} and {run.name!r}"
        known = first.data_fingerprint and run.data_fingerprint
        if known and first.data_fingerprint != run.data_fingerprint:
            raise StoreMismatch(
                f"{both} certify different data ({first.data_fingerprint} and "
                f"{run.data_fingerprint}); write one report for each"
            )
        if run.law and first.law and run.law.d != first.law.d:
            raise StoreMismatch(
                f"{both} certify inputs of different size (d = {first.law.d} and {run.law.d}); "
                "write one report for each"
            )
        for one in run.outcomes:
            label = labels.setdefault(one.index, one.label)
            if None not in (label, one.label) and label != one.label:
                raise StoreMismatch(
                    f"input {one.index} has label {label} in {first.name!r} but {one.label} in "
                    f"{run.name!r}, so they certify different data; write one report for each"
                )
