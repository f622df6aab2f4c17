"""One certificate, audited: its claim, and where there are votes the bounds that it starts from."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from dsrs.audit.claims import Claim
from dsrs.audit.findings import Refuted, Undecided, Verdict, Word
from dsrs.audit.proof import ProofAudit


def audit_certificate(
    fields: Any, name: str = "", bounds: Callable[[Claim], None] | None = None
) -> Verdict:
    """The verdict on a certificate given as JSON. `bounds` raises unless its bounds hold.

    Without it the bounds are taken as given: the verdict is on what follows from them.
    """
    claim = Claim.from_dict(fields)
    began = time.thread_time()
    proof = ProofAudit(claim)
    word: Word = "verified"
    reason = ""
    try:
        # What is refuted is refuted, whatever else stays undecided.
        doubts = []
        for part in (proof.run, *(() if bounds is None else (lambda: bounds(claim),))):
            try:
                part()
            except Undecided as doubt:
                doubts.append(str(doubt))
        if doubts:
            word, reason = "undecided", "; ".join(doubts)
    except Refuted as error:
        word, reason = "refuted", str(error)
    seconds = time.thread_time() - began
    surplus = min(proof.surpluses, default=None)
    return Verdict(name, word, reason, surplus, seconds, len(claim.proof))
