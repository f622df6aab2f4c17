"""The kinds of proof that this check knows. Each has its own file and a line here.

A kind that is not in CHECKED_KINDS is undecided, by its name.
"""

from __future__ import annotations

from dsrs.audit.claims import Claim
from dsrs.audit.kinds.dual import Dual
from dsrs.audit.kinds.lead import Lead
from dsrs.audit.kinds.routed import Routed
from dsrs.audit.kinds.slab import Slab
from dsrs.audit.kinds.steps import Proof
from dsrs.audit.reading import shown
from dsrs.audit.verdicts import Undecided

CHECKED_KINDS: dict[str, type[Proof]] = {"dual": Dual, "lead": Lead, "slab": Slab, "routed": Routed}


def proof_of(claim: Claim) -> Proof | None:
    """The proof of a certificate, read by its kind; None where it has none."""
    if claim.kind is None or claim.proof is None:
        return None
    if claim.kind not in CHECKED_KINDS:
        raise Undecided(f"this check does not know proofs of the kind {shown(claim.kind)}")
    return CHECKED_KINDS[claim.kind].read(claim.proof)


__all__ = ["CHECKED_KINDS", "Dual", "Lead", "Proof", "Routed", "Slab", "proof_of"]
