"""From votes to certificates: plans, methods, and when to stop.

Names are loaded when they are asked for: `--help` reads the file `defaults`, and must not wait for
NumPy and SciPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.methods import defaults as defaults
    from dsrs.methods.base import Event as Event
    from dsrs.methods.base import Look as Look
    from dsrs.methods.base import Method as Method
    from dsrs.methods.base import PlannedBound as PlannedBound
    from dsrs.methods.base import Side as Side
    from dsrs.methods.base import TakenBound as TakenBound
    from dsrs.methods.base import Want as Want
    from dsrs.methods.base import certify_or_abstain as certify_or_abstain
    from dsrs.methods.base import schedule as schedule
    from dsrs.methods.base import staged_lower as staged_lower
    from dsrs.methods.defaults import ALPHA as ALPHA
    from dsrs.methods.defaults import DOUBLE_SAMPLING as DOUBLE_SAMPLING
    from dsrs.methods.defaults import METHODS as METHODS
    from dsrs.methods.defaults import NEYMAN_PEARSON as NEYMAN_PEARSON
    from dsrs.methods.defaults import Entry as Entry
    from dsrs.methods.defaults import N as N
    from dsrs.methods.defaults import entry_of as entry_of
    from dsrs.methods.defaults import known_names as known_names
    from dsrs.methods.defaults import register as register
    from dsrs.methods.defaults import title_of as title_of
    from dsrs.methods.double_sampling import double_sampling_alphas as double_sampling_alphas
    from dsrs.methods.one_bound import Estimation as Estimation
    from dsrs.methods.one_bound import NeymanPearson as NeymanPearson
    from dsrs.methods.plan import ADAPTIVE_BATCH as ADAPTIVE_BATCH
    from dsrs.methods.plan import MAX_VOTES as MAX_VOTES
    from dsrs.methods.plan import Goal as Goal
    from dsrs.methods.plan import Plan as Plan
    from dsrs.methods.plan import default_batch as default_batch
    from dsrs.methods.plan import subject_of as subject_of
    from dsrs.methods.session import Session as Session
    from dsrs.methods.session import certificates_of as certificates_of
    from dsrs.methods.session import methods_of as methods_of
    from dsrs.methods.stopping import GIVING_UP as GIVING_UP
    from dsrs.methods.stopping import bound_needed as bound_needed
    from dsrs.methods.stopping import hits_needed as hits_needed
    from dsrs.methods.stopping import hopeless as hopeless
    from dsrs.methods.stopping import no_lead as no_lead
    from dsrs.methods.stopping import numbers_of_looks as numbers_of_looks
    from dsrs.methods.stopping import out_of_reach as out_of_reach
else:
    __all__, __getattr__, __dir__ = exports(__name__)
