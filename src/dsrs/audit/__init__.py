"""The same claims in ball arithmetic, sharing nothing with duality/: every certificate verified,
refuted or undecided. Needs the extra `audit` (python-flint)."""

from dsrs.audit.certificate import audit_certificate
from dsrs.audit.findings import WORDS, Refuted, Undecided, Verdict
from dsrs.audit.sampling_bounds import BoundsAudit
from dsrs.audit.table_rows import NEEDED, certificate_of

__all__ = [
    "NEEDED",
    "WORDS",
    "BoundsAudit",
    "Refuted",
    "Undecided",
    "Verdict",
    "audit_certificate",
    "certificate_of",
]
