"""The verdicts of a check, and the exceptions by which its parts reach them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Word = Literal["verified", "refuted", "undecided", "abstained"]
VERDICT_WORDS: tuple[Word, ...] = ("verified", "refuted", "undecided", "abstained")


class Refuted(Exception):
    """Something that the certificate says is provably false, or does not follow from its proof."""


class NotACertificate(Refuted):
    """The object cannot be read as a certificate, a row, a plan or votes."""


class Undecided(Exception):
    """Neither proved nor refuted: an enclosure is too wide, or something is missing or unknown."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome for one certificate. It is true in a condition only if `word` is `verified`.

    Attributes:
        name: which certificate of a file, table or run it is.
        word: `verified`, `refuted`, `undecided`, or `abstained` where nothing is claimed.
        reason: why it is refuted or undecided.
        radius: the radius that is claimed, where it could be read.
        subject: what the certificate says it is about, as JSON, where it says it.
        surplus: a lower bound of (B - claimed B), the least over the steps of the proof.
        seconds: processor seconds that the check took.
        steps: how many steps the proof has.
    """

    name: str
    word: Word
    reason: str = ""
    radius: float | None = None
    subject: Mapping[str, Any] | None = None
    surplus: float | None = None
    seconds: float = 0.0
    steps: int = 0

    def __bool__(self) -> bool:
        return self.word == "verified"

    def to_dict(self) -> dict[str, Any]:
        """The fields for JSON, in which an infinite radius is the text "inf"."""
        infinite = self.radius is not None and self.radius == float("inf")
        return {
            "name": self.name,
            "verdict": self.word,
            "reason": self.reason,
            "radius": "inf" if infinite else self.radius,
            "subject": None if self.subject is None else dict(self.subject),
            "surplus": self.surplus,
            "processor_seconds": self.seconds,
            "steps": self.steps,
        }


class Unreadable(Exception):
    """A file or folder as a whole cannot be read as certificates, a table or a run."""
