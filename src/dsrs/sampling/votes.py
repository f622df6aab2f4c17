"""What was seen for one input: votes of each stream, by class and by noise norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dsrs.errors import DataError, InvalidInput
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, law_from_dict
from dsrs.records import HISTOGRAM_BINS

SELECTION = "selection"
FIRST = "p1"
SECOND = "p2"
ADDITIONAL = "q:"


@dataclass(frozen=True, slots=True)
class Votes:
    """The votes of one stream: independent noisy copies of one input, all under one law.

    `stream` is `selection` (votes that choose the class), `p1` and `p2` (first and second part of
    the votes under P) or `q:METHOD` (votes under an additional law). `counts[c]` is the number of
    votes for class c. `trials[b]` votes had a noise norm in bin b of the equal-mass radial bins of
    P (also when the law sampled was Q), and `hits[b]` of these were for the certified class.
    `q` is the additional law that was sampled; None means P.
    """

    stream: str
    counts: tuple[int, ...]
    trials: tuple[int, ...]
    hits: tuple[int, ...]
    q: AdditionalLaw | None = None

    def __post_init__(self) -> None:
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

    @property
    def total(self) -> int:
        """Number of votes."""
        return sum(self.counts)

    @property
    def successes(self) -> int:
        """Number of votes for the certified class."""
        return sum(self.hits)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without loss."""
        return {
            "stream": self.stream,
            "counts": list(self.counts),
            "trials": list(self.trials),
            "hits": list(self.hits),
            "q": None if self.q is None else self.q.to_dict(),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any], base: GeneralizedGaussian) -> Votes:
        """The votes that `to_dict` was made from; `base` is the smoothing law P of the run.

        The first version wrote `q` as a list of kind and value.
        """
        try:
            q = fields["q"]
            if isinstance(q, list):
                q = dict(zip(("kind", "value"), q, strict=True))
            return cls(
                stream=str(fields["stream"]),
                counts=tuple(int(count) for count in fields["counts"]),
                trials=tuple(int(count) for count in fields["trials"]),
                hits=tuple(int(count) for count in fields["hits"]),
                q=None if q is None else law_from_dict(q, base),
            )
        except (KeyError, TypeError) as error:
            raise DataError(
                f"expected the fields of one stream of votes, got {fields!r}"
            ) from error


@dataclass(frozen=True, slots=True)
class SampledInput:
    """All votes of one input.

    `target` is the class whose hits were counted and that is certified: the label where there is
    one (unless the plan says otherwise), else the class that the selection votes chose.
    `predicted` is the most frequent class of the selection votes, or of `p1` when there was no
    selection. `stopped` says that sampling ended early because the input was hopeless; it can
    only ever be abstained on.
    """

    index: int
    label: int | None
    predicted: int | None
    target: int
    votes: tuple[Votes, ...]
    stopped: bool = False
    seconds: float = 0.0

    def stream(self, name: str) -> Votes | None:
        """The votes of this stream, or None where it was not sampled."""
        return next((votes for votes in self.votes if votes.stream == name), None)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without loss."""
        return {
            "index": self.index,
            "label": self.label,
            "predicted": self.predicted,
            "target": self.target,
            "votes": [votes.to_dict() for votes in self.votes],
            "stopped": self.stopped,
            "seconds": self.seconds,
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any], base: GeneralizedGaussian) -> SampledInput:
        """The record that `to_dict` was made from; `base` is the smoothing law P of the run."""
        try:
            return cls(
                index=int(fields["index"]),
                label=None if fields["label"] is None else int(fields["label"]),
                predicted=None if fields["predicted"] is None else int(fields["predicted"]),
                target=int(fields["target"]),
                votes=tuple(Votes.from_dict(votes, base) for votes in fields["votes"]),
                stopped=bool(fields["stopped"]),
                seconds=float(fields["seconds"]),
            )
        except (KeyError, TypeError) as error:
            raise DataError(f"expected the fields of one sampled input, got {fields!r}") from error
