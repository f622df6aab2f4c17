"""Evidence: proof files (checker/FORMAT.md) written from records, and the checker run on them."""

from __future__ import annotations

from dsrs.evidence.checking import (
    Checked,
    Verdict,
    check,
    check_evidence,
    check_file,
    evidence_of,
    some_of,
)
from dsrs.evidence.sources import (
    Evidence,
    evidence_of_certificates,
    evidence_of_file,
    evidence_of_run,
    evidence_of_text,
)

__all__ = [
    "Checked",
    "Evidence",
    "Verdict",
    "check",
    "check_evidence",
    "check_file",
    "evidence_of",
    "evidence_of_certificates",
    "evidence_of_file",
    "evidence_of_run",
    "evidence_of_text",
    "some_of",
]
