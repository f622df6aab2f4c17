"""All of a report: the runs, their numbers and their series, checked to belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dsrs.confidence import Resampling
from dsrs.files import Readable
from dsrs.reports.comparing import Comparison, common_inputs, compare
from dsrs.reports.envelope import Envelope, envelopes, shared_methods
from dsrs.reports.gating import Gate
from dsrs.reports.measures import RunMeasures, default_radii, measure_run
from dsrs.reports.series import FigureSeries, figure_series
from dsrs.reports.summary import RunSummary
from dsrs.reports.together import check_comparable


@dataclass(frozen=True, slots=True, repr=False)
class Report(Readable):
    """The content of a report, ready to be written in any format.

    `comparisons` are of every later run with the first one, over the inputs that both have.
    """

    runs: tuple[RunSummary, ...]
    radii: tuple[float, ...]
    resampling: Resampling
    measures: tuple[RunMeasures, ...]
    envelopes: tuple[Envelope, ...]
    series: FigureSeries
    comparisons: tuple[Comparison, ...] = ()
    gates: tuple[Gate, ...] = ()

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
    gates: Sequence[Gate] = (),
) -> Report:
    """Compute everything.

    Args:
        runs: what is reported.
        radii: by default a round grid that covers all certified radii.
        resampling: of the bootstrap.
        gates: verdicts on some of the runs, shown beside their numbers.
    """
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
        gates=tuple(gates),
        comparisons=tuple(
            compare(runs[0], run, grid, resampling=drawing)
            for run in runs[1:]
            if common_inputs(runs[0], run) and shared_methods((runs[0], run))
        ),
    )
