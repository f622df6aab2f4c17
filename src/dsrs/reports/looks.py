"""Which colour, dash and marker stand for what: a colour has one meaning in a whole report.

Where runs are compared the colour says the run, and dash and marker say the method; envelopes are
of no run, and have colours after those of the runs: one for each curve, or where these are too few
one for each family. Of a single run the colour says the method too, and what is of no method is
neutral. A line that is a run's, and no method's, has the dash of its run, since such lines may lie
on each other. A place is an index of `PALETTE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dsrs.methods import known_names
from dsrs.reports.report import Report
from dsrs.reports.style import NEUTRAL


class Looks:
    """The looks of one report.

    Args:
        runs: names of the runs, in the order of tables.
        methods: of all runs.
        envelopes: family and method of each curve.
    """

    def __init__(
        self,
        runs: Sequence[str],
        methods: Iterable[str],
        envelopes: Sequence[tuple[str, str]] = (),
    ) -> None:
        several = len(runs) > 1
        self.runs = {
            name: place % NEUTRAL if several else NEUTRAL for place, name in enumerate(runs)
        }
        families = list(dict.fromkeys(family for family, _ in envelopes))
        enough = len(runs) + len(envelopes) <= NEUTRAL
        self.envelopes = {
            curve: (len(runs) + (i if enough else families.index(curve[0]))) % NEUTRAL
            for i, curve in enumerate(envelopes)
        }
        self.methods = _method_places(dict.fromkeys(methods))
        self._colored_by_run = several

    def line(self, run: str, method: str) -> int:
        """The place of the colour of a line or points of one run and method."""
        return self.runs[run] if self._colored_by_run else self.methods[method]

    def pattern(self, method: str) -> int:
        """The number of the dash of a method; the marker has the number before, for no baseline."""
        return list(self.methods).index(method)


def looks_of(report: Report) -> Looks:
    """The looks of everything that a report shows."""
    return Looks(
        [run.name for run in report.runs],
        [method for run in report.runs for method in run.methods],
        [(curve.run, curve.method) for curve in report.series.envelopes],
    )


def _method_places(methods: Iterable[str]) -> dict[str, int]:
    """Methods in the order of dashes: known ones have their own colours, others what is free."""
    known = known_names()
    places = {method: known.index(method) % NEUTRAL for method in known if method in methods}
    others = [method for method in methods if method not in places]
    order = [*range(len(known), NEUTRAL), *range(len(known))]
    free = [place for place in order if place not in places.values()] or order
    return places | {method: free[i % len(free)] for i, method in enumerate(others)}
