"""The records that are kept of one input: its certificate, and what an attack found.

A certificate has a law, a status, a radius and the proof that makes it true; its subject says which
class of which model it is about, at which input and from which votes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.errors import DataError, InvalidInput
from dsrs.files import Readable, from_json, record_to_json, shown, to_json
from dsrs.laws import (
    AdditionalLaw,
    GeneralizedGaussian,
    Grid,
    Norm,
    law_from_dict,
    smoothing_law_from_dict,
)
from dsrs.proofs.base import NOTHING_KNOWN, Claim, Interval, Observation, Proof
from dsrs.proofs.dual import Dual
from dsrs.proofs.lead import Lead

# ---- What a certificate is about

SALTED = "salted:"  # how the fingerprint of a row of a table begins
LARGEST_SEED = 2**128 - 1


@dataclass(frozen=True, slots=True)
class Subject:
    """Which class of which model at which input, from which votes.

    Args:
        target: the certified class.
        alpha: the probability, at most, that the votes made a false certificate.
        method: the method, as the plan writes it.
        n: the budget of votes of the method.
        seed: with `index` it keys the noise of the votes, which can so be taken again.
        seed_public: whether the seed was known before the input was; then a stranger who chooses
            the input knows its noise.
        index: the number of the input in its dataset or, outside of one, in its noise.
        model: fingerprint of the model; None where it is not known.
        input: `input_fingerprint` of the input; None where it is not known.
        class_name: the name of the class, where it has one.
    """

    target: int = field(metadata={"json": "class"})
    alpha: float
    method: str
    n: int
    seed: int
    seed_public: bool
    index: int
    model: str | None = None
    input: str | None = None
    class_name: str | None = None

    def __post_init__(self) -> None:
        if self.target < 0 or self.index < 0:
            raise InvalidInput(
                f"a class and an index must not be negative, got {self.target} and {self.index}"
            )
        if not 0 < self.alpha < 1:
            raise InvalidInput(f"`alpha` must be in (0, 1), got {self.alpha!r}")
        if self.n < 1:
            raise InvalidInput(f"`n` must be at least 1, got {self.n}")
        if not 0 <= self.seed <= LARGEST_SEED:
            raise InvalidInput(f"`seed` must be from 0 to 2^128 - 1, got {self.seed}")


def input_fingerprint(x: ArrayLike, salt: tuple[int, int] | None = None) -> str:
    """SHA-256 of the values of an input as float32, with their shape.

    Args:
        x: the input.
        salt: the seed and the index of a certificate. A row of a table has few possible values, and
            its plain hash would tell in which other files the same row stands.
    """
    values = np.ascontiguousarray(x, dtype="<f4")
    head = f"dsrs input float32 {'x'.join(map(str, values.shape))}\n"
    if salt is not None:
        head += f"seed {salt[0]} index {salt[1]}\n"
    digest = hashlib.sha256(head.encode() + values.tobytes()).hexdigest()
    return digest if salt is None else SALTED + digest


# ---- The kinds of proofs, by their name in JSON

Kind = TypeVar("Kind", bound=type[Proof])

PROOF_KINDS: dict[str, type[Proof]] = {proof.kind: proof for proof in (Dual, Lead)}


def register(proof: Kind) -> Kind:
    """Make a kind of proof of another package known to certificates, runs and tables."""
    if PROOF_KINDS.get(proof.kind, proof) is not proof:
        raise InvalidInput(f"there is a proof of kind {proof.kind!r} already")
    PROOF_KINDS[proof.kind] = proof
    return proof


def proof_from_dict(fields: Any, law: GeneralizedGaussian) -> Proof:
    """The proof that `Proof.to_dict` was made from, for the smoothing law `law`."""
    kind = fields.get("kind") if isinstance(fields, Mapping) else None
    if not isinstance(kind, str) or kind not in PROOF_KINDS:
        raise DataError(
            f"the `kind` of a proof must be one of {', '.join(PROOF_KINDS)}, got "
            f"{shown(fields if kind is None else kind)}"
        )
    readers = {AdditionalLaw: lambda content: law_from_dict(content, law)}
    return from_json(PROOF_KINDS[kind], fields, readers, beside=("kind",))


# ---- The certificate

CERTIFICATE_FORMAT = 3
# `short`: a radius was asked for, and less was proved.
Status = Literal["certified", "short", "abstained", "undecided"]
# The entries of the JSON form, in order, after the format.
IN_JSON = (
    *("status", "radius", "linf_radius", "l1_radius", "np_radius", "complete", "law", "grid"),
    *("proof", "subject"),
)
# Derived from the radius, and compared with it where they are read.
OTHER_NORMS = ("linf_radius", "l1_radius")
STATUSES: tuple[str, ...] = get_args(Status)


@dataclass(frozen=True, slots=True)
class OnGrid:
    """Input and noise were rounded to a grid (docs/grid.md).

    The input was `moved` this far (l2) to its grid point: proofs are about that point, radii are
    less by the distance. `variation` is what every probability was charged at most for noise that
    is not quite the law's.
    """

    step: float
    origin: float
    moved: float
    variation: float

    @property
    def grid(self) -> Grid:
        """The grid, which belongs to the smoothed classifier."""
        return Grid(self.step, self.origin)


def radius_less(radius: float, distance: float) -> float:
    """Return radius - distance, rounded down, and 0 where that is negative."""
    if distance == 0 or math.isinf(radius):
        return radius
    left = radius - distance
    while left > 0 and Fraction(left) + Fraction(distance) > Fraction(radius):
        left = math.nextafter(left, 0.0)
    return max(left, 0.0)


@dataclass(frozen=True, slots=True, repr=False)
class Certificate(Readable):
    """No perturbation shorter than `radius` changes the smoothed answer, with its proof.

    Lengths are measured in the l2 norm.

    Args:
        law: the smoothing law P.
        status: certified; short of the radius that was asked for; abstained, where nothing can be
            proved; undecided, where the search found no proof.
        radius: the certified radius; 0 where nothing is claimed.
        np_radius: what Neyman and Pearson prove from the same bounds of P_A; None where nothing is
            known of it.
        proof: what makes the radius true, checked by `dsrs.check` without any search. With a
            `grid` it is about the input's grid point, and reaches farther by the distance.
        grid: what input and noise were rounded to; None: float32, as they came.
        complete: False where the search ran out of work, and a larger radius may be provable.
        subject: which class of which model at which input; None for bare intervals.
    """

    law: GeneralizedGaussian
    status: Status
    radius: float
    np_radius: float | None
    proof: Proof | None
    grid: OnGrid | None = None
    complete: bool = True
    subject: Subject | None = None

    def facts(self) -> dict[str, object]:
        """What a person wants to know first."""
        about = self.subject
        name = None if about is None else about.class_name
        of_subject = (
            {}
            if about is None
            else {
                "class": about.target if name is None else f"{about.target} ({name})",
                "method": about.method,
                "n": f"{about.n:,}",
                "alpha": f"{about.alpha:g}",
            }
        )
        radius = "infinite"
        if self.radius < math.inf:
            # Cut, not rounded: what is shown was proved.
            radius = str(Decimal(self.radius).quantize(Decimal("1.000000"), ROUND_FLOOR))
        return {
            "status": self.status,
            "l2 radius": radius,
            **of_subject,
            "noise": self.law.describe(),
        }

    @property
    def moved(self) -> float:
        """How far the proof's point lies from the input."""
        return 0.0 if self.grid is None else self.grid.moved

    @property
    def claim(self) -> Claim:
        """What is claimed of the class near the input; that of most proofs where there is none."""
        return "majority" if self.proof is None else self.proof.claim

    @property
    def known_of_p(self) -> Interval:
        """What the certificate starts from about P_A."""
        return NOTHING_KNOWN if self.proof is None else self.proof.known_of_p

    @property
    def observations(self) -> tuple[Observation, ...]:
        """What the certificate starts from about other laws."""
        return () if self.proof is None else self.proof.observations

    @property
    def linf_radius(self) -> float:
        """Certified l-infinity radius: the l2 radius / sqrt(d), rounded down."""
        return self.radius_in("linf")

    @property
    def l1_radius(self) -> float:
        """Certified l1 radius: the l1 ball lies inside the l2 ball of the same radius."""
        return self.radius_in("l1")

    def radius_in(self, norm: Norm) -> float:
        """Return the certified radius against perturbations that are measured in another norm.

        Perturbations of that length in `norm` are no longer than `radius` in l2.

        Args:
            norm: `l1`, `l2` or `linf`.
        """
        if norm != "linf":
            return self.radius
        ratio = self.radius / math.pow(self.law.d, 0.5)
        if not 0 < ratio < math.inf:
            return ratio
        while Fraction(ratio) ** 2 * self.law.d > Fraction(self.radius) ** 2:
            ratio = math.nextafter(ratio, 0.0)
        return ratio

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without loss; certificate.schema.json beside this file describes it."""
        return {"format": CERTIFICATE_FORMAT} | {
            name: to_json(getattr(self, name)) for name in IN_JSON
        }

    @classmethod
    def from_dict(cls, fields: Any) -> Certificate:
        """The certificate that `to_dict` was made from; whatever else it is raises `DataError`.

        Derived numbers are not believed: the radii of other norms must follow from this radius.
        """
        try:
            certificate = _read(cls, fields)
            for name in OTHER_NORMS:
                exact = getattr(certificate, name)
                if name in fields and fields[name] != to_json(exact):
                    raise DataError(
                        f"`{name}` must be {exact!r} for a radius of {certificate.radius!r}, "
                        f"got {shown(fields[name])}"
                    )
        except (DataError, InvalidInput) as error:
            raise DataError(f"this is not a certificate: {error}") from None
        return certificate

    def to_json(self) -> str:
        """The certificate as one line of JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """The certificate that `to_json` wrote."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"expected a certificate in JSON: {error}") from None
        return cls.from_dict(fields)


def _read(kind: type[Certificate], fields: Any) -> Certificate:
    if not isinstance(fields, Mapping):
        raise DataError(f"it must be an object, got {shown(fields)}")
    if fields.get("format") != CERTIFICATE_FORMAT:
        raise DataError(
            f"this version of dsrs reads certificates of format {CERTIFICATE_FORMAT}, got "
            f"{shown(fields.get('format'))}"
        )
    if not isinstance(fields.get("law"), Mapping):
        raise DataError(f"`law` must be an object, got {shown(fields.get('law'))}")
    law = smoothing_law_from_dict(fields["law"])
    readers = {
        GeneralizedGaussian: lambda _: law,
        Proof: lambda value: proof_from_dict(value, law),
    }
    return from_json(kind, fields, readers, beside=("format", *OTHER_NORMS))


# ---- What an attack found for one input: a point where a claim about the smoothed answer ends

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
