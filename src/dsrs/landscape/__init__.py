"""Accuracy against noise norm, and the choice of a law Q from it (docs/math.md 9 and 10).

Pure functions of votes and laws: no classifier and no sampling. Nothing in this room has a part in
the validity of a certificate; a poor choice costs radius.
"""

from dsrs.landscape.pilot import PilotStep, pilot_step
from dsrs.landscape.profile import Profile, profile_of_bins
from dsrs.landscape.tailored import Tailored, tailored_law

__all__ = [
    "PilotStep",
    "Profile",
    "Tailored",
    "pilot_step",
    "profile_of_bins",
    "tailored_law",
]
