"""Certificates: what is claimed of one input, and the proof that makes it true."""

from dsrs.proofs.base import CLAIM_ROUNDING, LARGEST_BOUND, Claim, Proof, Step, flaw_of_numbers
from dsrs.proofs.certificate import (
    CERTIFICATE_FORMAT,
    STATUSES,
    Certificate,
    OnGrid,
    Status,
    radius_less,
)
from dsrs.proofs.certification import abstention, certificate_of, certify, from_grid_point
from dsrs.proofs.checking import check, find_flaw, visible_flaw
from dsrs.proofs.constraints import SEARCH_WORK, constraints_of, problem_of
from dsrs.proofs.counterexample import AttackedInput, Candidate, Shown, Source
from dsrs.proofs.dual import Dual, find_dual
from dsrs.proofs.evaluation import (
    bound_at,
    neyman_pearson,
    radius_above,
    searched,
    unit_neyman_pearson,
)
from dsrs.proofs.interval import NOTHING_KNOWN, Interval, Observation
from dsrs.proofs.lead import Lead, Rivalry, best_level, find_lead, not_the_rival
from dsrs.proofs.least_probability import least_probability
from dsrs.proofs.registry import PROOF_KINDS, proof_from_dict, register
from dsrs.proofs.subject import SALTED, Subject, input_fingerprint
from dsrs.proofs.table import (
    REQUIRED_COLUMNS,
    RESULT_COLUMNS,
    RowOutcome,
    certify_row,
    certify_rows,
    certify_table,
)

__all__ = [
    "CERTIFICATE_FORMAT",
    "CLAIM_ROUNDING",
    "LARGEST_BOUND",
    "NOTHING_KNOWN",
    "PROOF_KINDS",
    "REQUIRED_COLUMNS",
    "RESULT_COLUMNS",
    "SALTED",
    "SEARCH_WORK",
    "STATUSES",
    "AttackedInput",
    "Candidate",
    "Certificate",
    "Claim",
    "Dual",
    "Interval",
    "Lead",
    "Observation",
    "OnGrid",
    "Proof",
    "Rivalry",
    "RowOutcome",
    "Shown",
    "Source",
    "Status",
    "Step",
    "Subject",
    "abstention",
    "best_level",
    "bound_at",
    "certificate_of",
    "certify",
    "certify_row",
    "certify_rows",
    "certify_table",
    "check",
    "constraints_of",
    "find_dual",
    "find_flaw",
    "find_lead",
    "flaw_of_numbers",
    "from_grid_point",
    "input_fingerprint",
    "least_probability",
    "neyman_pearson",
    "not_the_rival",
    "problem_of",
    "proof_from_dict",
    "radius_above",
    "radius_less",
    "register",
    "searched",
    "unit_neyman_pearson",
    "visible_flaw",
]
