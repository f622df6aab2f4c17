"""From votes to certificates: one file a method.

Names are loaded when they are asked for: defaults and registry are read by `--help`, which must not
wait for NumPy and SciPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.methods import defaults as defaults
    from dsrs.methods.base import Method as Method
    from dsrs.methods.base import Want as Want
    from dsrs.methods.base import certify_or_abstain as certify_or_abstain
    from dsrs.methods.bounds import Event as Event
    from dsrs.methods.bounds import PlannedBound as PlannedBound
    from dsrs.methods.bounds import Side as Side
    from dsrs.methods.bounds import TakenBound as TakenBound
    from dsrs.methods.bounds import planned as planned
    from dsrs.methods.bounds import shared as shared
    from dsrs.methods.defaults import ALPHA as ALPHA
    from dsrs.methods.defaults import NEYMAN_PEARSON as NEYMAN_PEARSON
    from dsrs.methods.defaults import N as N
    from dsrs.methods.futility import hopeless as hopeless
    from dsrs.methods.futility import numbers_of_looks as numbers_of_looks
    from dsrs.methods.goals import GIVING_UP as GIVING_UP
    from dsrs.methods.goals import bound_needed as bound_needed
    from dsrs.methods.goals import hits_needed as hits_needed
    from dsrs.methods.goals import no_lead as no_lead
    from dsrs.methods.goals import out_of_reach as out_of_reach
    from dsrs.methods.intervals import double_sampling_alphas as double_sampling_alphas
    from dsrs.methods.intervals import staged_lower as staged_lower
    from dsrs.methods.looks import LAST_LOOK_SHARE as LAST_LOOK_SHARE
    from dsrs.methods.looks import Look as Look
    from dsrs.methods.looks import schedule as schedule
    from dsrs.methods.neyman_pearson import NeymanPearson as NeymanPearson
    from dsrs.methods.one_bound import Estimation as Estimation
    from dsrs.methods.plan import ADAPTIVE_BATCH as ADAPTIVE_BATCH
    from dsrs.methods.plan import MAX_VOTES as MAX_VOTES
    from dsrs.methods.plan import Goal as Goal
    from dsrs.methods.plan import Plan as Plan
    from dsrs.methods.plan import default_batch as default_batch
    from dsrs.methods.registry import DOUBLE_SAMPLING as DOUBLE_SAMPLING
    from dsrs.methods.registry import METHODS as METHODS
    from dsrs.methods.registry import Entry as Entry
    from dsrs.methods.registry import entry_of as entry_of
    from dsrs.methods.registry import known_names as known_names
    from dsrs.methods.registry import methods_of as methods_of
    from dsrs.methods.registry import register as register
    from dsrs.methods.registry import title_of as title_of
    from dsrs.methods.session import Session as Session
    from dsrs.methods.session import certificates_of as certificates_of
    from dsrs.methods.subject import subject_of as subject_of
else:
    __all__, __getattr__, __dir__ = exports(
        __name__,
        {
            "base": ("Method", "Want", "certify_or_abstain"),
            "bounds": ("Event", "PlannedBound", "Side", "TakenBound", "planned", "shared"),
            "defaults": ("ALPHA", "N", "NEYMAN_PEARSON"),
            "futility": ("hopeless", "numbers_of_looks"),
            "goals": ("GIVING_UP", "bound_needed", "hits_needed", "no_lead", "out_of_reach"),
            "intervals": ("double_sampling_alphas", "staged_lower"),
            "looks": ("LAST_LOOK_SHARE", "Look", "schedule"),
            "neyman_pearson": ("NeymanPearson",),
            "one_bound": ("Estimation",),
            "plan": ("ADAPTIVE_BATCH", "Goal", "MAX_VOTES", "Plan", "default_batch"),
            "registry": (
                "DOUBLE_SAMPLING",
                "Entry",
                "METHODS",
                "entry_of",
                "known_names",
                "methods_of",
                "register",
                "title_of",
            ),
            "session": ("Session", "certificates_of"),
            "subject": ("subject_of",),
        },
        modules=("defaults",),
    )
