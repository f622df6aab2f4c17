"""What is added up over counted votes, in any division of a stream into units of work.

Votes are always counted by class and noise norm. A method that needs more of them than counts, such
as a sum over their noise, names a `Tally` of its own. Collectors and executors add every batch to
it, merge the tallies of units that were counted apart, and know nothing else of it.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsrs.laws import HISTOGRAM_BINS
from dsrs.noise import NoiseStream

if TYPE_CHECKING:
    from typing_extensions import Self

# votes[c, b]: votes for class c whose noise norm fell into radial bin b.
Histogram = NDArray[np.int64]


class Batch(NamedTuple):
    """Consecutive votes of one stream, as they are counted.

    `first` is the number of the first sample. `rows` holds the noisy inputs, one a row and flat;
    it is empty where the model made the noise itself, unless a tally `needs_rows`. `noise` makes
    the noise of any sample of the stream again.
    """

    classes: NDArray[np.int64]
    norms: NDArray[np.float64]
    first: int
    rows: NDArray[np.float32]
    noise: NoiseStream


@dataclass(eq=False)
class Tally(ABC):
    """Something that is added up over the votes of one stream, beside their counts.

    A tally is a dataclass: its arguments say what is added up, and fields with `init=False` hold
    the sums. These must not depend on the order in which votes are added or tallies are merged, so
    add whole numbers where the result is kept.
    """

    name: ClassVar[str]  # under which `summary` is stored with the votes
    needs_rows: ClassVar[bool] = False  # whether `add` uses the noisy inputs themselves

    @abstractmethod
    def add(self, batch: Batch) -> None:
        """Add these votes."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Add what another tally of the same arguments has added up over other votes.

        Arrays of `other` may be read-only, and belong to it.
        """

    def summary(self) -> Mapping[str, Any] | None:
        """For JSON: what is kept with the votes so far; None keeps nothing."""
        return None

    def empty(self) -> Self:
        """A tally of the same arguments, with nothing added."""
        return dataclasses.replace(self)


@dataclass(slots=True, eq=False)
class Counts:
    """What was added up over the votes of a unit of work.

    Args:
        votes: the votes by class and radial bin.
        tallies: what the unit asked for beside them, in its order.
    """

    votes: Histogram
    tallies: tuple[Tally, ...] = ()

    @classmethod
    def zero(cls, classes: int, tallies: Iterable[Tally] = ()) -> Counts:
        """No votes yet, of so many classes."""
        votes = np.zeros((classes, HISTOGRAM_BINS), dtype=np.int64)
        return cls(votes, tuple(tally.empty() for tally in tallies))

    @property
    def by_class(self) -> tuple[int, ...]:
        """The number of votes for each class."""
        return tuple(self.votes.sum(axis=1).tolist())

    def merge(self, other: Counts) -> None:
        """Add the counts of other votes of the same stream."""
        self.votes += other.votes
        for mine, others in zip(self.tallies, other.tallies, strict=True):
            mine.merge(others)
