"""Counterexamples for the smoothed answer, from votes or gradients."""

from dsrs.attack.attacking import AttackSettings, attack_input, attack_run
from dsrs.attack.summary import AttackSummary, EpsRates

__all__ = ["AttackSettings", "AttackSummary", "EpsRates", "attack_input", "attack_run"]
