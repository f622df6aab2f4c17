"""The kind `routed`: an expert that a router names, and what holds off or answers for the others.

Let the smoothed router name expert i, let expert j answer the class within s_j, and let the router
be likelier to answer i than j within e_j. At a shift of length < min_j max(s_j, e_j), with e_i = 0,
whichever expert j the router chooses is not one that it excludes there, so the shift is shorter
than s_j, and expert j answers the class.

Every proof of every expert is checked by its own kind, at its own reach. One that is undecided does
no harm where the other proof of the same expert reaches as far as the radius.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from dsrs.audit.claims import Claim, SmoothingLaw, Step
from dsrs.audit.kinds.dual import Dual
from dsrs.audit.kinds.lead import Lead
from dsrs.audit.kinds.norm_dual import NormDual
from dsrs.audit.kinds.slab import Slab
from dsrs.audit.kinds.steps import Evaluation, Noise, Proof
from dsrs.audit.reading import Fields, field, number, only, optional, shown, whole
from dsrs.audit.verdicts import NotACertificate, Refuted, Undecided

MOST_EXPERTS = 1000
OF_ROUTER: dict[str, type[Proof]] = {"dual": Dual, "lead": Lead, "norm-dual": NormDual}
OF_EXPERT: dict[str, type[Proof]] = {**OF_ROUTER, "slab": Slab}


@dataclass(frozen=True, slots=True)
class Part:
    """What is said of one expert; its noise as JSON, None for a plain model."""

    law: Mapping[str, Any] | None
    alpha: float
    proof: Proof | None
    router_alpha: float
    excluded: Proof | None

    @classmethod
    def read(cls, fields: Any) -> Part:
        """A part from a JSON object."""
        names = ("law", "alpha", "proof", "router_alpha", "excluded")
        only(fields, names, "an expert of a routed proof")
        part = cls(
            optional(fields, "law", dict),
            number(fields, "alpha"),
            _proof(optional(fields, "proof", dict), OF_EXPERT),
            number(fields, "router_alpha"),
            _proof(optional(fields, "excluded", dict), OF_ROUTER),
        )
        if part.alpha < 0 or part.router_alpha < 0:
            raise Refuted("a share of alpha is negative")
        if part.proof is not None and (part.law is None or part.alpha == 0):
            raise Refuted("the certificate of an expert needs its noise and a share of alpha")
        if part.excluded is not None and part.router_alpha == 0:
            raise Refuted("the bounds of a router need a share of alpha")
        return part

    @property
    def reach(self) -> float:
        """How far its proofs say that they reach."""
        return max((reach_of(proof) for proof in (self.proof, self.excluded) if proof), default=0.0)


def _proof(fields: Fields | None, kinds: Mapping[str, type[Proof]]) -> Proof | None:
    if fields is None:
        return None
    kind = field(fields, "kind", str)
    if kind not in kinds:
        raise Undecided(f"this check does not know parts of the kind {shown(kind)}")
    return kinds[kind].read(fields)


def reach_of(proof: Proof) -> float:
    """How far a proof says that it reaches."""
    radii = [step.radius for step in proof.steps]
    if not radii:
        return 0.0
    return min(radii) if isinstance(proof, Lead) else radii[0]


@dataclass(frozen=True, slots=True)
class Routed(Proof):
    """The parts of all experts, in the order of the router's answers."""

    norms: ClassVar[tuple[str, ...]] = ("l2", "l1", "linf")

    named: int
    alpha: float
    experts: tuple[Part, ...]

    @classmethod
    def read(cls, fields: Fields) -> Routed:
        only(fields, ("kind", "named", "alpha", "experts"), "a routed proof")
        experts = field(fields, "experts", list)
        if not 2 <= len(experts) <= MOST_EXPERTS:
            raise NotACertificate(f"a router has from 2 to {MOST_EXPERTS} experts")
        proof = cls(
            whole(fields, "named", 0, len(experts) - 1),
            number(fields, "alpha"),
            tuple(map(Part.read, experts)),
        )
        if not 0 < proof.alpha < 1:
            raise Refuted(f"its alpha is {proof.alpha!r}")
        for j, part in enumerate(proof.experts):
            if Fraction(part.alpha) + Fraction(part.router_alpha) > Fraction(proof.alpha):
                raise Refuted(f"the shares of expert {j} add up to more than alpha")
        if proof.experts[proof.named].excluded is not None:
            raise Refuted("the named expert cannot be excluded by the router")
        return proof

    @property
    def reach(self) -> float:
        """How far the whole says that it reaches."""
        return min(part.reach for part in self.experts)

    @property
    def steps(self) -> tuple[Step, ...]:  # type: ignore[override]
        """Those of all parts; none where the whole proves nothing."""
        if self.reach == 0:
            return ()
        proofs = [proof for part in self.experts for proof in (part.proof, part.excluded)]
        return tuple(step for proof in proofs if proof is not None for step in proof.steps)

    @property
    def lower_bounds(self) -> tuple[Fraction, ...]:
        return tuple(bound for bound, _ in self.bounds_at(self.alpha))

    def bounds_at(self, alpha: float) -> tuple[tuple[Fraction, float], ...]:
        found: list[tuple[Fraction, float]] = []
        for part in self.experts:
            for proof, share in ((part.proof, part.alpha), (part.excluded, part.router_alpha)):
                if proof is not None:
                    found += proof.bounds_at(min(share, alpha))
        return tuple(found)

    def noises(self, own: SmoothingLaw) -> tuple[Noise, ...]:
        found: list[Noise] = []
        for part in self.experts:
            noise = own if part.law is None else SmoothingLaw.read(part.law)
            for proof, law in ((part.proof, noise), (part.excluded, own)):
                if proof is not None and proof.steps:
                    found += proof.noises(law)
        return tuple(found)

    def check(self, claim: Claim, evaluation: Evaluation) -> None:
        said = None if claim.subject is None else claim.subject.get("alpha")
        if said is not None and Fraction(self.alpha) > Fraction(said):
            raise Refuted(f"the proof spends alpha = {self.alpha!r}, and the subject says {said!r}")
        needed = claim.beyond_move(claim.radius)
        for j, part in enumerate(self.experts):
            # Also of an expert that the router holds off: the claim is about this noise.
            noise = claim.law if part.law is None else SmoothingLaw.read(part.law)
            if (noise.d, noise.norm) != (claim.law.d, claim.law.norm):
                raise Refuted(f"the noise of expert {j} has another dimension or norm")
            if Fraction(part.reach) < needed:
                raise Refuted(f"the proofs of expert {j} reach {part.reach!r}, below the radius")
            proved, doubts = Fraction(0), []
            for proof, own in ((part.proof, noise), (part.excluded, claim.law)):
                if proof is None or not proof.steps:
                    continue
                if own.norm not in proof.norms:
                    raise Refuted(f"expert {j}: a proof that is not for noise of {own.norm}")
                alone = replace(claim, law=own, radius=reach_of(proof), grid=None, np_radius=None)
                try:
                    proof.check(alone, Evaluation(own.shells(), evaluation.surpluses))
                    proved = max(proved, Fraction(reach_of(proof)))
                except Undecided as doubt:
                    doubts.append(str(doubt))
                except Refuted as error:
                    raise Refuted(f"expert {j}: {error}") from None
            if proved < needed:
                raise Undecided(f"expert {j}: {'; '.join(doubts)}")
