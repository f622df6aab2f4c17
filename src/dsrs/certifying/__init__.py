"""From a classifier and inputs to certificates: one input, many inputs, again from votes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.certifying.again import Compared as Compared
    from dsrs.certifying.again import Retaken as Retaken
    from dsrs.certifying.again import certify_again as certify_again
    from dsrs.certifying.again import compare_served as compare_served
    from dsrs.certifying.again import facts_of_model as facts_of_model
    from dsrs.certifying.again import facts_of_run as facts_of_run
    from dsrs.certifying.again import recertify_run as recertify_run
    from dsrs.certifying.again import refuse_other as refuse_other
    from dsrs.certifying.again import replanned as replanned
    from dsrs.certifying.again import retake_votes as retake_votes
    from dsrs.certifying.budget import REHEARSED as REHEARSED
    from dsrs.certifying.budget import Budget as Budget
    from dsrs.certifying.budget import Choice as Choice
    from dsrs.certifying.budget import Deadline as Deadline
    from dsrs.certifying.budget import TimeIsUp as TimeIsUp
    from dsrs.certifying.budget import best_use as best_use
    from dsrs.certifying.budget import cost as cost
    from dsrs.certifying.budget import largest_expected as largest_expected
    from dsrs.certifying.forecast import Rehearsal as Rehearsal
    from dsrs.certifying.forecast import expected_table as expected_table
    from dsrs.certifying.forecast import rehearse as rehearse
    from dsrs.certifying.inputs import Counter as Counter
    from dsrs.certifying.inputs import Origin as Origin
    from dsrs.certifying.inputs import Watch as Watch
    from dsrs.certifying.inputs import certify_run as certify_run
    from dsrs.certifying.inputs import checked_index as checked_index
    from dsrs.certifying.inputs import checked_input as checked_input
    from dsrs.certifying.inputs import checked_label as checked_label
    from dsrs.certifying.inputs import note_on_distance as note_on_distance
    from dsrs.certifying.inputs import sample_input as sample_input
    from dsrs.certifying.inputs import setting_of as setting_of
    from dsrs.certifying.inputs import whole as whole
    from dsrs.certifying.progress import ERASE_LINE as ERASE_LINE
    from dsrs.certifying.progress import Progress as Progress
    from dsrs.certifying.progress import is_watched as is_watched
    from dsrs.certifying.progress import keep_all as keep_all
    from dsrs.certifying.progress import unseen as unseen
else:
    __all__, __getattr__, __dir__ = exports(__name__)
