"""Which runs may stand beside each other: those that certify the same data."""

from __future__ import annotations

from collections.abc import Sequence

from dsrs.errors import InvalidInput, StoreMismatch
from dsrs.reports.summary import RunSummary


def check_comparable(runs: Sequence[RunSummary], distinct: bool = True) -> None:
    """Refuse runs that do not belong together: other data, other labels, and one name twice.

    Without `distinct` names may be the same: two folders of one name in different places.
    """
    if not runs:
        raise InvalidInput("a report needs at least one run")
    first, labels = runs[0], {outcome.index: outcome.label for outcome in runs[0].outcomes}
    names = {first.name}
    for run in runs[1:]:
        if distinct and run.name in names:
            raise InvalidInput(f"two runs are called {run.name!r}; give each its own name")
        names.add(run.name)
        both = f"the runs {first.name!r} and {run.name!r}"
        known = first.data_fingerprint and run.data_fingerprint
        if known and first.data_fingerprint != run.data_fingerprint:
            raise StoreMismatch(
                f"{both} certify different data ({first.data_fingerprint} and "
                f"{run.data_fingerprint}); they cannot be compared"
            )
        if run.law and first.law and run.law.d != first.law.d:
            raise StoreMismatch(
                f"{both} certify inputs of different size (d = {first.law.d} and {run.law.d}); "
                "they cannot be compared"
            )
        for outcome in run.outcomes:
            label = labels.setdefault(outcome.index, outcome.label)
            if None not in (label, outcome.label) and label != outcome.label:
                raise StoreMismatch(
                    f"input {outcome.index} has label {label} in {first.name!r} but "
                    f"{outcome.label} in {run.name!r}, so they certify different data; they "
                    "cannot be compared"
                )
