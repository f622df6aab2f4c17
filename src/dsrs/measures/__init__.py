"""What results say together: certified accuracy, intervals, rounded figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.measures.accuracy import MOST_SHOWN_RADII as MOST_SHOWN_RADII
    from dsrs.measures.accuracy import NO_CERTIFICATE as NO_CERTIFICATE
    from dsrs.measures.accuracy import MethodAccuracy as MethodAccuracy
    from dsrs.measures.accuracy import certified_accuracy as certified_accuracy
    from dsrs.measures.accuracy import certified_at as certified_at
    from dsrs.measures.accuracy import counted_radii as counted_radii
    from dsrs.measures.accuracy import proved_radius as proved_radius
    from dsrs.measures.accuracy import proves as proves
    from dsrs.measures.accuracy import radius_grid as radius_grid
    from dsrs.measures.accuracy import round_step as round_step
    from dsrs.measures.diagnosis import diagnose as diagnose
    from dsrs.measures.diagnosis import hopeless_votes as hopeless_votes
    from dsrs.measures.diagnosis import renamed_classes as renamed_classes
    from dsrs.measures.population import SHARE_QUANTITIES as SHARE_QUANTITIES
    from dsrs.measures.population import Bounded as Bounded
    from dsrs.measures.population import Requirement as Requirement
    from dsrs.measures.population import inputs_needed as inputs_needed
    from dsrs.measures.population import mean_of as mean_of
    from dsrs.measures.population import robust_share as robust_share
    from dsrs.measures.population import share_of as share_of
    from dsrs.measures.rounding import Exact as Exact
    from dsrs.measures.rounding import ceil_number as ceil_number
    from dsrs.measures.rounding import ceil_text as ceil_text
    from dsrs.measures.rounding import expected_false as expected_false
    from dsrs.measures.rounding import expected_false_text as expected_false_text
    from dsrs.measures.rounding import floor_number as floor_number
    from dsrs.measures.rounding import floor_printed as floor_printed
    from dsrs.measures.rounding import floor_text as floor_text
    from dsrs.measures.rounding import nearest_number as nearest_number
    from dsrs.measures.rounding import nearest_text as nearest_text
    from dsrs.measures.rounding import percent as percent
    from dsrs.measures.rounding import signed as signed
else:
    __all__, __getattr__, __dir__ = exports(__name__)
