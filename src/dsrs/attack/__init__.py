"""Counterexamples for the smoothed answer, from votes or gradients."""

from dsrs.attack.attacking import AttackSettings, AttackSummary, EpsRates, attack_input, attack_run
from dsrs.attack.pursuit import POINT_ALPHA_SHARES, Shares, proved
from dsrs.attack.readings import Aim, FromBackPropagation, FromVotes, Score
from dsrs.attack.walk import Bands, Room

__all__ = [
    "POINT_ALPHA_SHARES",
    "Aim",
    "AttackSettings",
    "AttackSummary",
    "Bands",
    "EpsRates",
    "FromBackPropagation",
    "FromVotes",
    "Room",
    "Score",
    "Shares",
    "attack_input",
    "attack_run",
    "proved",
]
