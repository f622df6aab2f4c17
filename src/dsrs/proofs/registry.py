"""The kinds of proofs, by their name in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from dsrs.errors import DataError, InvalidInput
from dsrs.files import from_json, shown
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, law_from_dict
from dsrs.proofs.base import Proof
from dsrs.proofs.dual import Dual
from dsrs.proofs.lead import Lead

Kind = TypeVar("Kind", bound=type[Proof])

# A new kind is added here.
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
