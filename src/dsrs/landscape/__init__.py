"""Accuracy against noise norm, and the choice of a law Q from it (docs/math.md 9 and 10).

Pure functions of votes and laws: no classifier and no sampling. Nothing here has a part in the
validity of a certificate; a poor choice costs radius.
"""

from dsrs.landscape.profile import (
    CONCENTRATION_SHARES,
    Profile,
    bound_curve,
    concentration,
    expected_hits,
    expected_lower,
    fitted,
    profile_of_bins,
    unproved_at,
)
from dsrs.landscape.shells import CAP_REACH, cosine_of_score, knotted, shells_of
from dsrs.landscape.tailored import (
    FEWEST_PILOT_VOTES,
    MOST_PILOT_SHARE,
    PILOT_MISSES,
    PilotStep,
    Tailored,
    best_caps,
    limit_and_norm,
    longest_pilot,
    misses_by_shell,
    neyman_pearson_radius,
    pilot_step,
    probability,
    proved_shifts,
    tailored_law,
)

__all__ = [
    "CAP_REACH",
    "CONCENTRATION_SHARES",
    "FEWEST_PILOT_VOTES",
    "MOST_PILOT_SHARE",
    "PILOT_MISSES",
    "PilotStep",
    "Profile",
    "Tailored",
    "best_caps",
    "bound_curve",
    "concentration",
    "cosine_of_score",
    "expected_hits",
    "expected_lower",
    "fitted",
    "knotted",
    "limit_and_norm",
    "longest_pilot",
    "misses_by_shell",
    "neyman_pearson_radius",
    "pilot_step",
    "probability",
    "profile_of_bins",
    "proved_shifts",
    "shells_of",
    "tailored_law",
    "unproved_at",
]
