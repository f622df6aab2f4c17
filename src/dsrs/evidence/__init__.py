"""Evidence: proof files (checker/FORMAT.md) written from records, and the checker run on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.evidence.checking import Checked as Checked
    from dsrs.evidence.checking import Verdict as Verdict
    from dsrs.evidence.checking import check as check
    from dsrs.evidence.checking import check_evidence as check_evidence
    from dsrs.evidence.checking import check_file as check_file
    from dsrs.evidence.checking import evidence_of as evidence_of
    from dsrs.evidence.checking import some_of as some_of
    from dsrs.evidence.sources import Evidence as Evidence
    from dsrs.evidence.sources import evidence_of_certificates as evidence_of_certificates
    from dsrs.evidence.sources import evidence_of_file as evidence_of_file
    from dsrs.evidence.sources import evidence_of_run as evidence_of_run
    from dsrs.evidence.sources import evidence_of_text as evidence_of_text
else:
    __all__, __getattr__, __dir__ = exports(__name__)
