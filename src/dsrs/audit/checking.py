"""One certificate checked: what it says of itself, and where there are votes its bounds as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from dataclasses import field as field_of
from typing import Any

from dsrs.audit.balls import exact, precision
from dsrs.audit.claims import Claim
from dsrs.audit.grid_charge import variation
from dsrs.audit.kinds import Proof, proof_of
from dsrs.audit.kinds.steps import Evaluation, precision_needed
from dsrs.audit.limits import PROCESSOR_SECONDS, verdict_within
from dsrs.audit.methods import CHECKED_METHODS
from dsrs.audit.neyman_pearson import check_alone
from dsrs.audit.prediction_sets import check_sets, is_of_sets
from dsrs.audit.reading import field, shown
from dsrs.audit.verdicts import Refuted, Undecided, Verdict
from dsrs.audit.weights import CHECKED_LAWS

# Raises Refuted or Undecided unless the bounds that a certificate starts from follow from votes.
BoundsCheck = Callable[[Claim, Proof | None], None]
NOT_A_CERTIFICATE = "this is not a certificate"
ROUNDED_LEVEL = 1e-9  # of a level: what the rounding of a bound never adds to it


def check_certificate(
    fields: Any,
    name: str = "",
    bounds: BoundsCheck | None = None,
    seconds: float = PROCESSOR_SECONDS,
) -> Verdict:
    """The verdict on a certificate, or on a file of prediction sets.

    Args:
        fields: the certificate as JSON.
        name: what to call it in the verdict.
        bounds: raises unless the bounds of the certificate hold. Without it they are taken as
            given: the verdict is on what follows from them.
        seconds: processor seconds after which it is undecided.
    """
    if is_of_sets(fields) and bounds is None:
        return check_sets(fields, name, seconds)
    findings = _Findings()
    verdict = verdict_within(
        seconds, name, NOT_A_CERTIFICATE, lambda: findings.verdict(fields, name, bounds)
    )
    return replace(
        verdict,
        radius=None if findings.claim is None else findings.claim.radius,
        subject=None if findings.claim is None else findings.claim.subject,
        surplus=min(findings.surpluses, default=None),
        steps=len(findings.proof.steps) if findings.proof else 0,
    )


@dataclass
class _Findings:
    """What was read and found on the way to a verdict."""

    claim: Claim | None = None
    proof: Proof | None = None
    surpluses: list[float] = field_of(default_factory=list)

    def verdict(self, fields: Any, name: str, bounds: BoundsCheck | None) -> Verdict:
        """The word and its reason: what is refuted is so, whatever else stays undecided."""
        doubts = []
        claim = self.claim = Claim.read(fields)
        proof = self.proof = proof_of(claim)
        claim.check_words(len(proof.steps) if proof else 0)
        for part in (self._prove, bounds or _demand_possible_bounds):
            try:
                part(claim, proof)
            except Undecided as doubt:
                doubts.append(str(doubt))
        if doubts:
            raise Undecided("; ".join(doubts))
        return Verdict(name, "verified" if claim.radius > 0 else "abstained")

    def _prove(self, claim: Claim, proof: Proof | None) -> None:
        """Raise unless the steps prove the radius, and P alone proves `np_radius`."""
        if proof is None or not proof.steps:
            return
        with precision(precision_needed(proof.steps)):
            evaluation = Evaluation(claim.law.shells(), self.surpluses)
            proof.check(claim, evaluation)
            check_alone(claim, proof, evaluation.shells)


def _demand_possible_bounds(claim: Claim, proof: Proof | None) -> None:
    """Raise Refuted where no votes of this number and seed give the bounds of a certificate."""
    _demand_enough_votes(claim, proof)
    _demand_charge(claim, proof)
    _demand_method(claim, proof)


def _demand_method(claim: Claim, proof: Proof | None) -> None:
    """Raise unless the method of the subject is known, and uses laws of these kinds."""
    method = (claim.subject or {}).get("method")
    if method is None or proof is None or not proof.steps:
        return
    word = method.partition(":")[0]
    if word not in CHECKED_METHODS:
        raise Undecided(f"this check does not know the method {shown(method)}")
    used = {field(law, "kind", str) for _, law in proof.noises(claim.law) if law is not None}
    if word != "tailored" and used - ({word} & set(CHECKED_LAWS)):
        raise Refuted(f"the method {shown(method)} uses no law of the kind {', '.join(used)}")


def _demand_charge(claim: Claim, proof: Proof | None) -> None:
    """Raise unless what the bounds on a grid are said to be charged is enough for all noise."""
    if claim.grid is None or proof is None or not proof.steps:
        return
    said = claim.grid.variation
    with precision():
        for noise, law in proof.noises(claim.law):
            least = variation(noise.shells(), law, claim.grid.step)
            if exact(said) < least:
                raise Refuted(f"noise on the grid is charged {said!r}, below {float(least)!r}")


def _demand_enough_votes(claim: Claim, proof: Proof | None) -> None:
    """Raise Refuted where not even n hits of n votes give a bound that the proof starts from.

    Such a bound L holds at level alpha if L^n <= alpha.
    """
    subject = claim.subject or {}
    n, alpha = subject.get("n"), subject.get("alpha")
    if n is None or alpha is None or proof is None:
        return
    with precision():
        for bound, share in proof.bounds_at(alpha):
            level = exact(share) * (1 + exact(ROUNDED_LEVEL))
            if bound > 0 and exact(bound).log() * n > level.log():
                raise Refuted(f"no {n} votes show {float(bound)!r} at alpha = {share!r}")
