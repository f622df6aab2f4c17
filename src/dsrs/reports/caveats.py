"""What a reader of a report must know of its runs, a sentence each, in every format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dsrs.laws import WITHOUT_GRID
from dsrs.measures import expected_false_text
from dsrs.reports.headers import different_settings, plan_of

if TYPE_CHECKING:
    from dsrs.reports.report import Report


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
