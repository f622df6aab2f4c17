"""An executor that the package does not know: it counts vote by vote, in the calling thread."""

from __future__ import annotations

from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Classifier
from dsrs.votes import Collector, Counts, Executor, ModelSpec, Setting, WorkUnit, count_votes

STEP = 37  # samples of a unit: it divides nothing


class PieceByPiece(Executor):
    """Builds the model from its spec, and counts units of a few samples, the last one first."""

    opened = 0

    def __init__(self, spec: ModelSpec, address: str, *, threads: int, device: str) -> None:
        self._model = spec.build(address)

    def open(self) -> None:
        PieceByPiece.opened += 1

    def close(self) -> None:
        """There is nothing to give back."""

    def in_flight(self, votes: int, inputs: int) -> int:
        return 1

    def collector(self, stop: Event) -> Collector:
        return _Pieces(self._model)

    @property
    def place(self) -> str:
        return "pieces"

    @property
    def busy(self) -> tuple[float, int]:
        return 1.0, 1


class _Pieces(Collector):
    def __init__(self, model: Classifier) -> None:
        self._model = model

    def collect(
        self, classifier: Any, x: NDArray[np.float32], setting: Setting, unit: WorkUnit
    ) -> Counts:
        total = Counts.zero(self._model.num_classes, unit.tallies)
        for first in reversed(range(unit.first, unit.stop, STEP)):
            part = replace(unit, first=first, stop=min(first + STEP, unit.stop))
            total.merge(count_votes(self._model, x, setting, part))
        return total
