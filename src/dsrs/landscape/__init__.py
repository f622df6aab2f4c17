"""Accuracy against noise norm, and the choice of a law Q from it (docs/math.md 9 and 10).

Pure functions of votes and laws: no classifier and no sampling. Nothing here has a part in the
validity of a certificate; a poor choice costs radius.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.landscape.profile import CONCENTRATION_SHARES as CONCENTRATION_SHARES
    from dsrs.landscape.profile import Profile as Profile
    from dsrs.landscape.profile import bound_curve as bound_curve
    from dsrs.landscape.profile import concentration as concentration
    from dsrs.landscape.profile import expected_hits as expected_hits
    from dsrs.landscape.profile import expected_lower as expected_lower
    from dsrs.landscape.profile import fitted as fitted
    from dsrs.landscape.profile import profile_of_bins as profile_of_bins
    from dsrs.landscape.profile import unproved_at as unproved_at
    from dsrs.landscape.shells import CAP_REACH as CAP_REACH
    from dsrs.landscape.shells import cosine_of_score as cosine_of_score
    from dsrs.landscape.shells import knotted as knotted
    from dsrs.landscape.shells import shells_of as shells_of
    from dsrs.landscape.tailored import FEWEST_PILOT_VOTES as FEWEST_PILOT_VOTES
    from dsrs.landscape.tailored import MOST_PILOT_SHARE as MOST_PILOT_SHARE
    from dsrs.landscape.tailored import PILOT_MISSES as PILOT_MISSES
    from dsrs.landscape.tailored import PilotStep as PilotStep
    from dsrs.landscape.tailored import Tailored as Tailored
    from dsrs.landscape.tailored import best_caps as best_caps
    from dsrs.landscape.tailored import limit_and_norm as limit_and_norm
    from dsrs.landscape.tailored import longest_pilot as longest_pilot
    from dsrs.landscape.tailored import misses_by_shell as misses_by_shell
    from dsrs.landscape.tailored import neyman_pearson_radius as neyman_pearson_radius
    from dsrs.landscape.tailored import pilot_step as pilot_step
    from dsrs.landscape.tailored import probability as probability
    from dsrs.landscape.tailored import proved_shifts as proved_shifts
    from dsrs.landscape.tailored import tailored_law as tailored_law
else:
    __all__, __getattr__, __dir__ = exports(__name__)
