"""Certified accuracies of the recorded runs: certified again, or as they were recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from dsrs.paper.recorded import Floats, Ints, RecordedRadii, RecordedRun, RunName
from dsrs.paper.table_runs import Run, RunKey, key_of

TEST_INPUTS = 1000  # every 10th test input of MNIST and CIFAR-10, every 50th of ImageNet

RadiiOf = Callable[[RecordedRun], Floats]
Source = Literal["recertified", "recorded"]


@dataclass(frozen=True, slots=True)
class Radii:
    """The radii behind one row of a table, beside those that were recorded for it."""

    index: Ints
    ours: Floats
    recorded: Floats
    source: Source

    def percent(self, radius: float) -> Fraction:
        """Share of all inputs that are right and certified at `radius`, in percent."""
        return Fraction(100 * int(np.count_nonzero(self.ours >= radius)), len(self.ours))

    def average(self) -> float:
        """ACR: the mean radius, 0 for inputs that are wrong or abstained."""
        return float(self.ours.mean())

    def lost(self, radius: float) -> list[int]:
        """Places of the inputs that have `radius` in the record and not here."""
        places: list[int] = np.flatnonzero(
            (self.recorded >= radius) & (self.ours < radius)
        ).tolist()
        return places


class RecordedAccuracy:
    """The radii of recorded runs by key; `radii_of` solves a run, once, when it is asked for.

    Without `radii_of` the radii are those recorded. `alone` are runs of which only the radii are
    known: they stand in where no run has the intervals. A run that does not have the paper's
    number of inputs is not the paper's: it is left out, and listed in `cut`.
    """

    def __init__(
        self,
        runs: Iterable[RecordedRun],
        radii_of: RadiiOf | None = None,
        alone: Iterable[RecordedRadii] = (),
        inputs: int = TEST_INPUTS,
    ) -> None:
        self.cut: list[tuple[RunName, int]] = []
        self._inputs = inputs
        self._runs = self._complete(runs)
        self._alone = self._complete(alone)
        self._radii_of = radii_of
        self._radii: dict[RunKey, Radii] = {}

    def radii(self, key: RunKey) -> Radii | None:
        """Radii of the run with this key; None if it was not recorded."""
        if key not in self._radii:
            found = self._find(key)
            if found is None:
                return None
            self._radii[key] = found
        return self._radii[key]

    def _find(self, key: RunKey) -> Radii | None:
        run = self._runs.get(key)
        if run is not None and self._radii_of is not None:
            return Radii(run.index, self._radii_of(run), run.recorded_radius, "recertified")
        recorded = run or self._alone.get(key)
        if recorded is None or np.isnan(recorded.recorded_radius).any():
            return None
        radii = recorded.recorded_radius
        return Radii(recorded.index, radii, radii, "recorded")

    def _complete(self, runs: Iterable[Run]) -> dict[RunKey, Run]:
        found = {}
        for run in runs:
            if len(run) == self._inputs:
                found[key_of(run.name)] = run
            else:
                self.cut.append((run.name, len(run)))
        return found
