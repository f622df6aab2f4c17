"""Records of votes: what is added up while they are counted, and what is kept of them."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import DataError, InvalidInput, NotEnoughVotes
from dsrs.files import Readers, from_json, record_to_json
from dsrs.laws import HISTOGRAM_BINS, GeneralizedGaussian, Grid, law_from_dict
from dsrs.noise import NoiseLaw, NoiseStream, Stream

if TYPE_CHECKING:
    from typing_extensions import Self

# ---- What is added up over counted votes, in any division of a stream into units of work
#
# Votes are always counted by class and noise norm. A method that needs more of them than counts,
# such as a sum over their noise, names a `Tally` of its own. Collectors and executors add every
# batch to it, merge the tallies of units that were counted apart, and know nothing else of it.

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


# ---- The votes of one input: counts by class and by noise norm, stream by stream

# What votes are for: those that choose (the class, a law) are never those that a bound rests on.
SELECTION = "selection"
ESTIMATION = "estimation"


@dataclass(frozen=True, slots=True, repr=False)
class Votes:
    """Consecutive votes of one stream: noisy copies of one input, independent, under one law.

    The samples of a stream are numbered, and these begin at `start`. `counts[c]` is the number of
    votes for class c. `trials[b]` votes had a noise norm in bin b of the equal-mass radial bins of
    P (also when the law was Q), and `hits[b]` of these were for the certified class. `tallies`
    holds the summaries of the tallies that methods asked for, by name: each of the whole stream up
    to the last of these votes.
    """

    stream: Stream
    start: int
    counts: tuple[int, ...]
    trials: tuple[int, ...]
    hits: tuple[int, ...]
    tallies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.start < 0:
            raise InvalidInput(f"`start` must not be negative, got {self.start}")
        if not (len(self.trials) == len(self.hits) == HISTOGRAM_BINS):
            raise InvalidInput(
                f"`trials` and `hits` must have {HISTOGRAM_BINS} bins, "
                f"got {len(self.trials)} and {len(self.hits)}"
            )
        if sum(self.counts) != sum(self.trials):
            raise InvalidInput(
                f"`counts` and `trials` must count the same votes, "
                f"got {sum(self.counts)} and {sum(self.trials)}"
            )
        if any(not 0 <= h <= t for h, t in zip(self.hits, self.trials, strict=True)):
            raise InvalidInput("`hits` must be between 0 and `trials` in every bin")

    def __repr__(self) -> str:
        return f"Votes({self.total} {self.stream} from {self.start} on, {self.successes} hits)"

    @property
    def total(self) -> int:
        """Number of votes."""
        return sum(self.counts)

    @property
    def successes(self) -> int:
        """Number of votes for the certified class."""
        return sum(self.hits)

    @property
    def stop(self) -> int:
        """The number of the first sample after these."""
        return self.start + self.total

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without loss."""
        return {
            "purpose": self.stream.purpose,
            "law": law_fields(self.stream.law),
            "start": self.start,
            "counts": list(self.counts),
            "trials": list(self.trials),
            "hits": list(self.hits),
            "tallies": {name: dict(summary) for name, summary in self.tallies.items()},
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], base: GeneralizedGaussian) -> Votes:
        """The votes that `to_dict` was made from; `base` is the smoothing law P of the run."""
        try:
            return cls(
                stream=Stream(str(fields["purpose"]), law_of_fields(fields["law"], base)),
                start=int(fields["start"]),
                counts=tuple(int(count) for count in fields["counts"]),
                trials=tuple(int(count) for count in fields["trials"]),
                hits=tuple(int(count) for count in fields["hits"]),
                tallies={str(name): dict(part) for name, part in fields["tallies"].items()},
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"expected the fields of votes ({error}), got {fields!r}") from error


@dataclass(frozen=True, slots=True)
class SampledInput:
    """All votes of one input.

    `target` is the class whose hits were counted and that is certified: the label where there is
    one (unless the plan says otherwise), else the class that the selection votes chose; None only
    while these are missing. `predicted` is the most frequent class of the selection votes, or of
    the votes under P where there was no selection. `choices` holds the law that each method
    chose from votes. `queries` is what the votes cost: rows that the model ran, with those that
    fill a batch and were not counted; None where they were not counted. `moved` is how far (l2,
    rounded up) the point that was sampled lies from the input: the distance to its grid point.
    `grid` is what input and noise were rounded to, `model` and `input` are the fingerprints of the
    classifier and of the input, where they are known. `undefended` is the class that the model
    gives to the input without noise, where it was asked: one row more in `queries`.
    """

    index: int
    label: int | None
    predicted: int | None
    target: int | None
    votes: tuple[Votes, ...] = ()
    choices: Mapping[str, NoiseLaw] = field(default_factory=dict)
    seconds: float = 0.0
    queries: int | None = None
    moved: float = 0.0
    grid: Grid | None = None
    model: str | None = None
    input: str | None = None
    undefended: int | None = None

    def taken(self, stream: Stream) -> int:
        """How many votes of this stream there are."""
        return sum(votes.total for votes in self._of(stream))

    def first(self, stream: Stream, count: int) -> Votes:
        """The first `count` votes of a stream."""
        parts, total = [], 0
        for votes in self._of(stream):
            parts.append(votes)
            total += votes.total
            if total >= count:
                break
        if not parts or total != count:
            raise self.lacks(stream, count)
        return _joined(parts)

    def lacks(self, stream: Stream, count: int) -> NotEnoughVotes:
        """The error for a method that needs the first `count` votes of a stream."""
        return NotEnoughVotes(
            f"input {self.index} needs the first {count} {stream}, and has: "
            f"{self.inventory()}; keep n and the shares as they were sampled"
        )

    def ends(self, stream: Stream) -> list[int]:
        """After how many votes of a stream counts are known."""
        return [votes.stop for votes in self._of(stream)]

    def inventory(self) -> str:
        """The streams and how many votes each has, for messages."""
        streams: dict[Stream, int] = {}
        for votes in self.votes:
            streams[votes.stream] = streams.get(votes.stream, 0) + votes.total
        return ", ".join(f"{stream} ({count})" for stream, count in streams.items()) or "none"

    def _of(self, stream: Stream) -> Iterable[Votes]:
        return (votes for votes in self.votes if votes.stream == stream)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without loss."""
        return dict(record_to_json(self)) | {"choices": choices_fields(self.choices)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], base: GeneralizedGaussian) -> SampledInput:
        """The record that `to_dict` was made from; `base` is the smoothing law P of the run."""
        readers: Readers = {
            Votes: lambda votes: Votes.from_dict(votes, base),
            Mapping[str, NoiseLaw]: lambda choices: choices_of_fields(choices, base),
            Grid: Grid.from_dict,
        }
        try:
            return from_json(cls, fields, readers)
        except (DataError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"expected the fields of one sampled input ({error}), got {fields!r}"
            ) from error


def _joined(parts: list[Votes]) -> Votes:
    """Consecutive votes of one stream as one."""
    first = parts[0]
    if len(parts) == 1:
        return first
    columns = zip(*((part.counts, part.trials, part.hits) for part in parts), strict=True)
    counts, trials, hits = (tuple(map(sum, zip(*column, strict=True))) for column in columns)
    return Votes(first.stream, first.start, counts, trials, hits, parts[-1].tallies)


def law_fields(law: NoiseLaw) -> dict[str, Any] | None:
    """The law of votes for JSON: P is null, because a run has it in its plan."""
    return None if isinstance(law, GeneralizedGaussian) else law.to_dict()


def law_of_fields(fields: Mapping[str, Any] | None, base: GeneralizedGaussian) -> NoiseLaw:
    """The law that `law_fields` was made from; `base` is P."""
    return base if fields is None else law_from_dict(fields, base)


def choices_fields(choices: Mapping[str, NoiseLaw]) -> dict[str, Any]:
    """Return the laws that methods chose, for JSON."""
    return {text: law_fields(law) for text, law in choices.items()}


def choices_of_fields(fields: Mapping[str, Any], base: GeneralizedGaussian) -> dict[str, NoiseLaw]:
    """The choices that `choices_fields` was made from; `base` is the smoothing law P of the run."""
    return {str(text): law_of_fields(law, base) for text, law in fields.items()}
