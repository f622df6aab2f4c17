"""From votes to certificates: one file a strategy."""

from dsrs.methods.base import Strategy, Want
from dsrs.methods.naming import NAMED, strategy_of
from dsrs.methods.neyman_pearson import NEYMAN_PEARSON
from dsrs.methods.plan import DEFAULT_METHODS, Plan
from dsrs.methods.session import Session, certificates_of

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
