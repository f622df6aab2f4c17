"""The record that a run keeps of one input."""

from __future__ import annotations

from dataclasses import dataclass, field

from dsrs.errors import InvalidInput
from dsrs.files import Readable
from dsrs.proofs import Certificate
from dsrs.votes import SampledInput, Votes


@dataclass(frozen=True, slots=True, repr=False)
class RunResult(Readable):
    """The votes of one input, the certificate of each method, and a small picture of the input.

    `thumbnail` is a PNG, or None where the input is not an image.
    """

    sampled: SampledInput
    certificates: dict[str, Certificate] = field(default_factory=dict)
    thumbnail: bytes | None = None

    def facts(self) -> dict[str, object]:
        """What a person wants to know first."""
        proved = {name: certificate.facts() for name, certificate in self.certificates.items()}
        return {
            "input": self.index,
            "label": self.label,
            "class": self.sampled.target,
            **{
                name: f"{own['status']}, l2 radius {own['l2 radius']}"
                for name, own in proved.items()
            },
            "votes": self.sampled.inventory(),
        }

    @property
    def index(self) -> int:
        return self.sampled.index

    @property
    def label(self) -> int | None:
        return self.sampled.label

    @property
    def predicted(self) -> int | None:
        return self.sampled.predicted

    @property
    def target(self) -> int:
        """The class that the certificates are for."""
        if self.sampled.target is None:
            raise InvalidInput(f"input {self.index} has no class to certify yet")
        return self.sampled.target

    @property
    def votes(self) -> tuple[Votes, ...]:
        return self.sampled.votes

    @property
    def queries(self) -> int | None:
        return self.sampled.queries

    @property
    def seconds(self) -> float:
        return self.sampled.seconds
