"""Where units of work are counted: what an executor is, and the threads of this machine.

The votes do not depend on it. `clusters.py` has executors whose workers are elsewhere: they build
the model by its name, and refuse one with another fingerprint.
"""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from dsrs.classifiers import Classifier, load_classifier
from dsrs.errors import ClassifierError, DsrsError
from dsrs.kernels import thread_count
from dsrs.votes.collect import UNIT_SAMPLES, Collector, InlineCollector, VoteCollector


class Executor(ABC):
    """Counts votes while it is open: `with executor:`."""

    @abstractmethod
    def open(self) -> None:
        """Get ready to count."""

    @abstractmethod
    def close(self) -> None:
        """End what is still being counted, and give everything back."""

    @abstractmethod
    def in_flight(self, votes: int, inputs: int) -> int:
        """How many of the inputs to have in work at once; each asks for so many votes at a time.

        Many votes keep all workers busy; few, as with looks, leave gaps that other inputs fill.
        """

    @abstractmethod
    def collector(self, stop: Event) -> Collector:
        """A collector for one input. It ends soon, with `Stopped`, once `stop` is set."""

    @property
    @abstractmethod
    def place(self) -> str:
        """For people: where votes are counted."""

    @property
    @abstractmethod
    def busy(self) -> tuple[float, int]:
        """How many cores were busy on average since it was opened, and of how many."""

    def fewest_rows(self, classifier: Classifier) -> int | None:
        """Rows of the smallest forward passes since memory ran out; None if it never did."""
        models = classifier.replicas or (classifier,)
        found = [rows for model in models if (rows := model.rows_at_once) is not None]
        return min(found, default=None)

    def __enter__(self) -> Executor:
        self.open()
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


# ---- Threads of this process: together on one input after the other, or one input each

# Units of one input for each thread, at least, that they share it: the last unit leaves gaps.
UNITS_EACH = 4


class ThreadExecutor(Executor):
    """`workers` threads, all cores when None; `at_least` as many as the model has devices."""

    def __init__(self, workers: int | None = None, at_least: int = 0) -> None:
        self._shared = VoteCollector(max(thread_count(workers), at_least))
        self._one_input = True
        self._turns = itertools.count()
        self._opened = time.perf_counter(), time.process_time()

    def open(self) -> None:
        self._shared.__enter__()
        self._opened = time.perf_counter(), time.process_time()

    def close(self) -> None:
        self._shared.__exit__(None, None, None)

    def in_flight(self, votes: int, inputs: int) -> int:
        enough = UNITS_EACH * UNIT_SAMPLES * self._shared.workers
        self._one_input = inputs == 1 or votes >= enough
        # With two, no worker waits for the last votes, the certificate or the file of one input.
        return min(2, inputs) if self._one_input else self._shared.workers

    def collector(self, stop: Event) -> Collector:
        if self._one_input:
            return self._shared.until(stop)
        return InlineCollector(stop, next(self._turns))

    @property
    def place(self) -> str:
        return f"{self._shared.workers} threads of this machine"

    @property
    def busy(self) -> tuple[float, int]:
        wall, processor = self._opened
        spent = time.process_time() - processor
        return spent / max(time.perf_counter() - wall, 1e-9), self._shared.workers


# ---- How to build a classifier anywhere: by name and options, and the hash that it must have


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model's name, or those of an ensemble, and the options of `load_classifier`.

    A machine that counts votes builds the classifier from it, and refuses one with another
    fingerprint: code and weights come from its own files, never over the network.
    """

    name: str | tuple[str, ...]
    options: Mapping[str, Any]
    fingerprint: str

    @classmethod
    def of(
        cls, name: str | Path | Sequence[str], options: Mapping[str, Any], known: Classifier
    ) -> ModelSpec:
        """The spec of a classifier that was built here, with files by their whole paths."""
        files = {key: options[key] for key in ("weights", "denoise") if options.get(key)}
        whole = dict(options) | {key: _whole_path(file) for key, file in files.items()}
        if isinstance(name, str | Path):
            return cls(_whole_path(name), whole, known.fingerprint)
        return cls(tuple(map(_whole_path, name)), whole, known.fingerprint)

    def build(self, where: str) -> Classifier:
        """The classifier from the files of this machine; `where` names it in messages."""
        try:
            found = load_classifier(self.name, **self.options)
        except DsrsError as error:
            # Errors travel between machines: a plain one is read everywhere.
            raise ClassifierError(f"{where} cannot build the model: {error}") from None
        if found.fingerprint != self.fingerprint:
            raise ClassifierError(
                f"{where} has another model than was asked for: {self.name} has the fingerprint "
                f"{found.fingerprint} there, not {self.fingerprint}"
            )
        return found


def _whole_path(name: str | Path) -> str:
    path = Path(name)
    return str(path.resolve()) if path.exists() else str(name)
