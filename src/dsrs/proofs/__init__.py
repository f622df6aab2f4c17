"""Certificates: what is claimed of one input, and the proof that makes it true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.proofs.base import CLAIM_ROUNDING as CLAIM_ROUNDING
    from dsrs.proofs.base import LARGEST_BOUND as LARGEST_BOUND
    from dsrs.proofs.base import NOTHING_KNOWN as NOTHING_KNOWN
    from dsrs.proofs.base import Claim as Claim
    from dsrs.proofs.base import Interval as Interval
    from dsrs.proofs.base import Observation as Observation
    from dsrs.proofs.base import Proof as Proof
    from dsrs.proofs.base import Step as Step
    from dsrs.proofs.base import flaw_of_numbers as flaw_of_numbers
    from dsrs.proofs.certificate import CERTIFICATE_FORMAT as CERTIFICATE_FORMAT
    from dsrs.proofs.certificate import OTHER_NORMS as OTHER_NORMS
    from dsrs.proofs.certificate import PROOF_KINDS as PROOF_KINDS
    from dsrs.proofs.certificate import SALTED as SALTED
    from dsrs.proofs.certificate import STATUSES as STATUSES
    from dsrs.proofs.certificate import AttackedInput as AttackedInput
    from dsrs.proofs.certificate import Candidate as Candidate
    from dsrs.proofs.certificate import Certificate as Certificate
    from dsrs.proofs.certificate import OnGrid as OnGrid
    from dsrs.proofs.certificate import Shown as Shown
    from dsrs.proofs.certificate import Source as Source
    from dsrs.proofs.certificate import Status as Status
    from dsrs.proofs.certificate import Subject as Subject
    from dsrs.proofs.certificate import input_fingerprint as input_fingerprint
    from dsrs.proofs.certificate import proof_from_dict as proof_from_dict
    from dsrs.proofs.certificate import radius_less as radius_less
    from dsrs.proofs.certificate import register as register
    from dsrs.proofs.certification import REQUIRED_COLUMNS as REQUIRED_COLUMNS
    from dsrs.proofs.certification import RESULT_COLUMNS as RESULT_COLUMNS
    from dsrs.proofs.certification import RowOutcome as RowOutcome
    from dsrs.proofs.certification import abstention as abstention
    from dsrs.proofs.certification import certificate_of as certificate_of
    from dsrs.proofs.certification import certify as certify
    from dsrs.proofs.certification import certify_row as certify_row
    from dsrs.proofs.certification import certify_rows as certify_rows
    from dsrs.proofs.certification import certify_table as certify_table
    from dsrs.proofs.certification import check as check
    from dsrs.proofs.certification import find_flaw as find_flaw
    from dsrs.proofs.certification import from_grid_point as from_grid_point
    from dsrs.proofs.certification import visible_flaw as visible_flaw
    from dsrs.proofs.dual import Dual as Dual
    from dsrs.proofs.dual import find_dual as find_dual
    from dsrs.proofs.evaluation import SEARCH_WORK as SEARCH_WORK
    from dsrs.proofs.evaluation import bound_at as bound_at
    from dsrs.proofs.evaluation import constraints_of as constraints_of
    from dsrs.proofs.evaluation import least_probability as least_probability
    from dsrs.proofs.evaluation import neyman_pearson as neyman_pearson
    from dsrs.proofs.evaluation import problem_of as problem_of
    from dsrs.proofs.evaluation import radius_above as radius_above
    from dsrs.proofs.evaluation import searched as searched
    from dsrs.proofs.evaluation import unit_neyman_pearson as unit_neyman_pearson
    from dsrs.proofs.lead import Lead as Lead
    from dsrs.proofs.lead import Rivalry as Rivalry
    from dsrs.proofs.lead import best_level as best_level
    from dsrs.proofs.lead import find_lead as find_lead
    from dsrs.proofs.lead import not_the_rival as not_the_rival
else:
    __all__, __getattr__, __dir__ = exports(__name__)
