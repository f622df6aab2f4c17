"""What an executor is: it gives each input that is in work a collector of its votes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from threading import Event

from dsrs.classifiers import Classifier
from dsrs.votes.collect import Collector


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
