"""The kinds of proof that this check knows. Each has its own file and a line here.

A kind that is not in CHECKED_KINDS is undecided, by its name.
"""

from __future__ import annotations

from dsrs.audit.claims import Claim
from dsrs.audit.kinds.dual import Dual
from dsrs.audit.kinds.lead import Lead
from dsrs.audit.kinds.steps import Proof
from dsrs.audit.reading import shown
from dsrs.audit.verdicts import Refuted, Undecided

CHECKED_KINDS: dict[str, type[Proof]] = {
    "dual": Dual,
    "lead": Lead,
}


def proof_of(claim: Claim) -> Proof | None:
    """The proof of a certificate, read by its kind; None where it has none."""
    if claim.kind is None or claim.proof is None:
        return None
    if claim.kind not in CHECKED_KINDS:
        raise Undecided(f"this check does not know proofs of the kind {shown(claim.kind)}")
    kind, norm = CHECKED_KINDS[claim.kind], claim.law.norm
    if norm not in kind.norms:
        raise Refuted(f"a proof of the kind {claim.kind} is not for noise that is round in {norm}")
    return kind.read(claim.proof)


__all__ = ["CHECKED_KINDS", "Dual", "Lead", "Proof", "proof_of"]
