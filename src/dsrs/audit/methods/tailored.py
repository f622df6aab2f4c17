"""The method `tailored`: pilot votes choose a law, and all other votes are under that law.

Any choice from the pilot is valid, because the votes that are bounded are fresh. Where n is too
small for a pilot none is taken, and the law is P. Where the votes that choose the class would leave
none of n, n further ones are taken.
"""

from __future__ import annotations

from dsrs.audit.law_text import canonical
from dsrs.audit.methods.ballots import SELECTION
from dsrs.audit.methods.context import VoteContext
from dsrs.audit.methods.one_bound import check_one_bound


def check_tailored(seen: VoteContext) -> None:
    """Raise unless the bounds follow from the votes that the pilot leaves, under its law."""
    law = seen.ballots.choice(seen.text)
    if canonical(law) == ("truncated", 1.0):
        law = None  # P itself
    left = seen.plan.n - seen.ballots.taken(SELECTION, None)
    check_one_bound(seen, law, left if left > 0 else seen.plan.n)
