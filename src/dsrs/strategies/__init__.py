"""From votes to certificates: one file a strategy."""

from dsrs.strategies.base import Strategy, Want
from dsrs.strategies.naming import NAMED, strategy_of
from dsrs.strategies.neyman_pearson import NEYMAN_PEARSON
from dsrs.strategies.plan import DEFAULT_METHODS, Plan
from dsrs.strategies.session import Session, certificates_of

__all__ = [
    "DEFAULT_METHODS",
    "NAMED",
    "NEYMAN_PEARSON",
    "Plan",
    "Session",
    "Strategy",
    "Want",
    "certificates_of",
    "strategy_of",
]
