"""What an audit can say: verified, refuted or undecided, the last two with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Word = Literal["verified", "refuted", "undecided"]
WORDS: tuple[Word, ...] = ("verified", "refuted", "undecided")


class Refuted(Exception):
    """Something that the certificate says is false, provably."""


class Undecided(Exception):
    """Neither proved nor refuted: an enclosure is too wide, or something is missing."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome for one certificate; `name` says which one it is.

    `surplus` is the least of (rigorous B - claimed B) over the steps of the proof, from below,
    where there is one; `seconds` are those of the processor.
    """

    name: str
    word: Word
    reason: str = ""
    surplus: float | None = None
    seconds: float = 0.0
    steps: int = 0

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "verdict": self.word,
            "reason": self.reason,
            "surplus": self.surplus,
            "seconds": self.seconds,
            "steps": self.steps,
        }
