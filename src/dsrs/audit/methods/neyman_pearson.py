"""The method `np`: all votes under P."""

from __future__ import annotations

from dsrs.audit.methods.context import VoteContext
from dsrs.audit.methods.one_bound import check_one_bound


def check_neyman_pearson(seen: VoteContext) -> None:
    """Raise unless the bounds follow from n votes under P, all of alpha for them."""
    check_one_bound(seen, None, seen.plan.n)
