"""What an attack found for one input: a point where a claim about the smoothed answer ends."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import DataError
from dsrs.files import from_json, record_to_json
from dsrs.laws import Norm
from dsrs.proofs.base import Claim

# What fresh votes at a point proved: the majority is lost; another class is ahead; nothing.
Shown = Literal["majority lost", "answer changed", "nothing"]
# Where the direction came from.
Source = Literal["votes", "back-propagation"]
# Whether the claim ends within a distance that was asked for.
Verdict = Literal["robust", "changed", "undecided"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One point that was voted on with fresh noise.

    `counts[c]` of its votes were for class c; `rival` is the class that was compared with the
    target, chosen before these votes. `alpha` is the share that the proof at this point may fail
    with, `seed` and `purpose` name the noise.
    """

    norm: float
    counts: tuple[int, ...]
    rival: int
    alpha: float
    shown: Shown
    source: Source
    seed: int
    purpose: str

    @property
    def votes(self) -> int:
        return sum(self.counts)

    def ends(self, claim: Claim) -> bool:
        """Whether the claim was proved to end here; who leads with a majority lost both."""
        return self.shown == "answer changed" or (
            self.shown == "majority lost" and claim == "majority"
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without loss."""
        return dict(record_to_json(self))


@dataclass(frozen=True, slots=True, eq=False)
class AttackedInput:
    """What was found for one certified input.

    `method` names the certificate that was attacked, `certified` is its radius and `claim` what it
    says of `target`. `candidates` are all points that were voted on, in order; `nearest` is the
    place among them of the nearest one where the claim provably ends, None where nothing was
    proved. `perturbation` leads there from the input (from the best candidate where nothing was
    proved). `votes` were spent in all, `estimate` is where the claim seems to end. Distances and
    the certified radius are measured in `norm`. With `eps` the attack asked only whether the claim
    ends within that distance.
    """

    index: int
    target: int
    method: str
    claim: Claim
    certified: float
    candidates: tuple[Candidate, ...]
    nearest: int | None
    perturbation: NDArray[np.float32] | None
    votes: int
    estimate: float | None
    seconds: float = 0.0
    pictures: tuple[bytes, bytes] | None = None  # PNG of the perturbation, of the perturbed input
    norm: Norm = "l2"
    eps: float | None = None

    @property
    def counterexample(self) -> Candidate | None:
        """The nearest point where the claim provably ends."""
        return None if self.nearest is None else self.candidates[self.nearest]

    @property
    def attacked(self) -> float | None:
        """Its distance; None where nothing was proved."""
        return None if self.counterexample is None else self.counterexample.norm

    @property
    def ratio(self) -> float | None:
        """Certified radius over attacked distance: 1 would leave no gap."""
        if self.attacked is None:
            return None
        return self.certified / self.attacked if self.attacked > 0 else math.inf

    @property
    def refuted(self) -> bool:
        """Whether the certificate is wrong: its claim provably ends inside its radius.

        A certificate speaks of shifts shorter than its radius.
        """
        return self.attacked is not None and self.attacked < self.certified

    @property
    def verdict(self) -> Verdict | None:
        """What is proved of the perturbations up to `eps`; None where none was given.

        robust: the certificate covers them. changed: the claim provably ends within `eps`.
        """
        if self.eps is None:
            return None
        if self.attacked is not None and self.attacked <= self.eps:
            return "changed"
        return "robust" if self.certified > self.eps else "undecided"

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without loss but for the perturbation and the pictures."""
        apart = ("perturbation", "pictures")
        names = [item.name for item in fields(self) if item.name not in apart]
        kept = {name: getattr(self, name) for name in names}
        return kept | {"candidates": [one.to_dict() for one in self.candidates]}

    @classmethod
    def from_dict(
        cls,
        entries: Mapping[str, Any],
        perturbation: NDArray[np.float32] | None,
        pictures: tuple[bytes, bytes] | None,
    ) -> AttackedInput:
        """The record that `to_dict` was made from, with what is kept beside it."""
        try:
            candidates = tuple(from_json(Candidate, one) for one in entries["candidates"])
            beside = {"perturbation": perturbation, "pictures": pictures}
            return cls(**{**entries, "candidates": candidates, **beside})
        except (KeyError, TypeError) as error:
            raise DataError(f"expected the fields of an attacked input, got {entries!r}") from error
