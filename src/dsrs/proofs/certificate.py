"""The certificate of one input: a law, a status, a radius, and the proof that makes it true."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any, Literal, get_args

from dsrs.errors import DataError, InvalidInput
from dsrs.files import Readable, from_json, shown, to_json
from dsrs.laws import GeneralizedGaussian, Grid, Norm, smoothing_law_from_dict
from dsrs.proofs.base import Claim, Proof
from dsrs.proofs.interval import NOTHING_KNOWN, Interval, Observation
from dsrs.proofs.registry import proof_from_dict
from dsrs.proofs.subject import Subject

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
