"""What an attack says of a whole run: means, and certificates that are refuted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dsrs.laws import Norm
from dsrs.proofs import AttackedInput


@dataclass(frozen=True, slots=True)
class EpsRates:
    """How many inputs keep their answer against every perturbation up to `eps`.

    Of all `inputs`, attacked or not, `right` are predicted as labelled, without perturbation (the
    class with most votes: an estimate). Of those that are certified for their label the answer is
    proved `robust` within `eps`, proved `changed`, or `undecided`. `wrong` are certified for a
    class that is not their label. Nothing is known of the others, which have no certificate.
    """

    eps: float
    inputs: int
    right: int
    robust: int
    changed: int
    undecided: int
    wrong: int

    @property
    def uncertified(self) -> int:
        """Count the inputs without a certificate."""
        return self.inputs - self.robust - self.changed - self.undecided - self.wrong

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the counts, and the rates that bound the robust accuracy."""
        known = max(self.inputs, 1)
        return asdict(self) | {
            "uncertified": self.uncertified,
            "accuracy": self.right / known,
            "robust_accuracy_at_least": self.robust / known,
            "robust_accuracy_at_most": 1 - (self.changed + self.wrong) / known,
        }


@dataclass(frozen=True, slots=True)
class AttackSummary:
    """All attacked inputs of a run.

    The means of `attacked` and `ratio` are over the inputs with a proved counterexample; that of
    `certified` is given for these too, so that the two distances compare. None without any.
    """

    inputs: tuple[AttackedInput, ...]
    clip: bool
    certified: float | None
    certified_where_attacked: float | None
    attacked: float | None
    ratio: float | None
    norm: Norm = "l2"
    rates: EpsRates | None = None  # where a distance was given

    @property
    def proved(self) -> int:
        """Count the inputs with a proved counterexample."""
        return sum(one.attacked is not None for one in self.inputs)

    @property
    def refuted(self) -> tuple[AttackedInput, ...]:
        """The inputs whose certificate is proved wrong."""
        return tuple(one for one in self.inputs if one.refuted)

    @property
    def votes(self) -> int:
        return sum(one.votes for one in self.inputs)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: every input in short, and the means."""
        return {
            "inputs": [input_fields(one) for one in self.inputs],
            "means": {
                "certified": self.certified,
                "certified_where_attacked": self.certified_where_attacked,
                "attacked": self.attacked,
                "ratio": self.ratio,
            },
            "proved": self.proved,
            "refuted": [one.index for one in self.refuted],
            "votes": self.votes,
            "within": "bounds" if self.clip else "R^d",
            "norm": self.norm,
            "eps": None if self.rates is None else self.rates.to_dict(),
        }


def input_fields(one: AttackedInput) -> dict[str, Any]:
    """Return the fields of one input for the summary."""
    found = one.counterexample
    return {
        "index": one.index,
        "certified": one.certified,
        "attacked": one.attacked,
        "ratio": one.ratio,
        "estimate": one.estimate,
        "claim": one.claim,
        "shown": None if found is None else found.shown,
        "source": None if found is None else found.source,
        "target": one.target,
        "rival": None if found is None else found.rival,
        "refuted": one.refuted,
        "method": one.method,
        "votes": one.votes,
        "verdict": one.verdict,
    }


def summarised(
    inputs: Sequence[AttackedInput],
    clip: bool,
    norm: Norm = "l2",
    rates: EpsRates | None = None,
) -> AttackSummary:
    """The summary of these inputs."""
    broken = [one for one in inputs if one.attacked is not None]
    return AttackSummary(
        inputs=tuple(inputs),
        clip=clip,
        certified=_mean([one.certified for one in inputs]),
        certified_where_attacked=_mean([one.certified for one in broken]),
        attacked=_mean([one.attacked for one in broken if one.attacked is not None]),
        ratio=_mean([one.ratio for one in broken if one.ratio is not None]),
        norm=norm,
        rates=rates,
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
