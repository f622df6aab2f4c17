"""Counterexamples for the smoothed answer, from votes or gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.attack.attacking import AttackSettings as AttackSettings
    from dsrs.attack.attacking import AttackSummary as AttackSummary
    from dsrs.attack.attacking import EpsRates as EpsRates
    from dsrs.attack.attacking import attack_input as attack_input
    from dsrs.attack.attacking import attack_run as attack_run
    from dsrs.attack.pursuit import POINT_ALPHA_SHARES as POINT_ALPHA_SHARES
    from dsrs.attack.pursuit import Shares as Shares
    from dsrs.attack.pursuit import proved as proved
    from dsrs.attack.readings import Aim as Aim
    from dsrs.attack.readings import FromBackPropagation as FromBackPropagation
    from dsrs.attack.readings import FromVotes as FromVotes
    from dsrs.attack.readings import Score as Score
    from dsrs.attack.walk import Bands as Bands
    from dsrs.attack.walk import Room as Room
else:
    __all__, __getattr__, __dir__ = exports(__name__)
