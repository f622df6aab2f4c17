"""Beside a routed run and runs of single noises: what an ideal choice among these would certify."""

from __future__ import annotations

from collections.abc import Sequence

from dsrs.measures.accuracy import NO_CERTIFICATE
from dsrs.reports.envelope import shared_methods
from dsrs.reports.headers import is_routed
from dsrs.reports.summary import Answer, Outcome, RunSummary

ORACLE = "oracle"


def oracle_of(runs: Sequence[RunSummary]) -> RunSummary | None:
    """Of each input the largest radius for the label among the runs of single noises.

    None unless there are a routed run and two runs of single noises with inputs and a method in
    common. Experts that a router did not need have no votes in the routed run itself: only runs
    of their own tell what they certify.
    """
    singles = [run for run in runs if run.law is not None and not is_routed(run)]
    if len(singles) < 2 or not any(map(is_routed, runs)):
        return None
    inputs = [{outcome.index: outcome for outcome in run.outcomes} for run in singles]
    common, methods = set.intersection(*map(set, inputs)), shared_methods(singles)
    if not common or not methods:
        return None
    name = ORACLE if ORACLE not in {run.name for run in runs} else f"{ORACLE} of this report"
    first = singles[0]
    assert first.law is not None
    return RunSummary.from_outcomes(
        name,
        [_best([outcomes[index] for outcomes in inputs], methods) for index in common],
        [first.law],
        family=None,
        data_fingerprint=first.data_fingerprint,
        class_names=first.class_names,
        settings={ORACLE: [run.name for run in singles]},
    )


def _best(known: Sequence[Outcome], methods: Sequence[str]) -> Outcome:
    """The best of several outcomes of one input, for each method."""
    answers = {}
    for method in methods:
        best = max(known, key=lambda one: one.proved_radius(method))
        own = best.answers.get(method) if best.for_label else None
        answers[method] = own or Answer(NO_CERTIFICATE, 0.0)
    chosen = max(known, key=lambda one: max(map(one.proved_radius, methods)))
    label = chosen.label
    target = chosen.target if label is None else label
    return Outcome(chosen.index, label, chosen.predicted, target, answers)
