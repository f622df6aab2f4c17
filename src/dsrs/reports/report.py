"""All of a report: the runs, their numbers and their series, checked to belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dsrs.confidence import Resampling
from dsrs.files import Readable
from dsrs.laws import WITHOUT_GRID
from dsrs.measures import expected_false_text
from dsrs.reports.comparing import Comparison, common_inputs, compare
from dsrs.reports.gating import Gate
from dsrs.reports.headers import different_settings, plan_of
from dsrs.reports.measures import (
    Envelope,
    RunMeasures,
    default_radii,
    envelopes,
    measure_run,
    shared_methods,
)
from dsrs.reports.reading import check_comparable
from dsrs.reports.series import FigureSeries, figure_series
from dsrs.reports.summary import RunSummary


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


# ---- What a reader of a report must know of its runs, a sentence each, in every format


def caveats(report: Report) -> list[str]:
    """What the numbers do not mean: labels, inputs, settings, grids, and false certificates."""
    return [
        *_without_labels(report),
        *_other_inputs(report),
        *_other_settings(report),
        *_of_runs(report),
    ]


def _without_labels(report: Report) -> Iterator[str]:
    names = [run.name for run in report.runs if not run.labelled]
    if names:
        yield (
            f"Without labels ({', '.join(names)}): shares of inputs that have a certificate; "
            "whether its class is right is not known."
        )


def _other_inputs(report: Report) -> Iterator[str]:
    inputs = [{outcome.index for outcome in run.outcomes} for run in report.runs]
    common = set.intersection(*inputs)
    if all(indices == common for indices in inputs):
        return
    sizes = ", ".join(
        f"{run.name} has {len(indices)}" for run, indices in zip(report.runs, inputs, strict=True)
    )
    yield (
        f"The runs are over different inputs: {sizes}, and {len(common) or 'none'} of these are "
        "common to all. Their numbers in the summary do not compare"
        + ("; the comparison is over inputs that both runs have." if report.comparisons else ".")
    )


def _other_settings(report: Report) -> Iterator[str]:
    different = different_settings(report.runs)
    if different:
        yield (
            f"The runs differ in {', '.join(different)}: a gain of one over another may come from "
            "that."
        )


def _of_runs(report: Report) -> Iterator[str]:
    for run in report.runs:
        plan = plan_of(run)
        if "alpha" not in plan:
            continue  # a table
        if plan.get("grid") is None:
            yield f"{run.name}: {WITHOUT_GRID}."
        together = plan.get("family_alpha"), plan.get("family_size")
        certificates = run.size * len(run.methods)
        yield f"{run.name}: {expected_false_text(plan['alpha'], certificates, *together)}."
