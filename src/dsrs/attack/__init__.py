"""Counterexamples for the smoothed answer, from votes or gradients."""

from dsrs.attack.aim import Aim
from dsrs.attack.attacking import AttackSettings, attack_input, attack_run
from dsrs.attack.backpropagation import FromBackPropagation
from dsrs.attack.box import Room
from dsrs.attack.readings import FromVotes
from dsrs.attack.score import Score
from dsrs.attack.shrinking import Bands
from dsrs.attack.summary import AttackSummary, EpsRates
from dsrs.attack.verification import POINT_ALPHA_SHARES, Shares, proved

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
