"""Accuracy against noise norm, and the choice of a law Q from it (docs/math.md 9 and 10).

Pure functions of votes and laws: no classifier and no sampling. Nothing in this room has a part in
the validity of a certificate; a poor choice costs radius.
"""

from dsrs.landscape.concentration import CONCENTRATION_SHARES, concentration
from dsrs.landscape.expected import bound_curve, expected_hits, expected_lower, unproved_at
from dsrs.landscape.pilot import (
    FEWEST_PILOT_VOTES,
    MOST_PILOT_SHARE,
    PILOT_MISSES,
    PilotStep,
    longest_pilot,
    pilot_step,
)
from dsrs.landscape.prediction import limit_and_norm, misses_by_shell, probability
from dsrs.landscape.profile import Profile, fitted, profile_of_bins
from dsrs.landscape.shells import CAP_REACH, cosine_of_score, shells_of
from dsrs.landscape.tailored import (
    Tailored,
    best_caps,
    neyman_pearson_radius,
    proved_shifts,
    tailored_law,
)
from dsrs.landscape.weights import knotted

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
