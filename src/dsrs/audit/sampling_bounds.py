"""The bounds of a certificate from the votes of a run: which votes, at which part of alpha.

docs/votes.md and docs/math.md 11 say why each rule keeps its alpha. Here it is shown that the
bounds of a certificate are the ones that its rule gives, or weaker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from dsrs.audit.ballots import Ballots
from dsrs.audit.balls import exact, precision
from dsrs.audit.claims import Claim
from dsrs.audit.findings import Refuted
from dsrs.audit.one_stream import check_first_order, check_one_bound
from dsrs.audit.shells import Shells
from dsrs.audit.two_streams import check_double_sampling
from dsrs.audit.vote_context import Fields, VoteContext


class BoundsAudit:
    """Checks the bounds of one certificate of a run; raises Refuted or Undecided."""

    def __init__(self, plan: Fields, sampled: Fields, method: str, votes: Fields) -> None:
        self.plan, self.sampled, self.method, self.votes = plan, sampled, method, votes

    def __call__(self, claim: Claim) -> None:
        with precision():
            self._check(claim)

    def _check(self, claim: Claim) -> None:
        plan, law = self.plan, self.plan["law"]
        own = (claim.d, claim.sigma, claim.k, claim.eta)
        if own != (law["d"], law["sigma"], law["k"], law.get("eta", 2.0)):
            raise Refuted("the smoothing law is not the one that was sampled")
        short = plan["radius"] is not None and claim.radius < plan["radius"]
        if (claim.status == "short") != short:
            raise Refuted(f"status {claim.status}, and a radius of {plan['radius']} was asked for")
        text, ballots = _text_of(self.method, plan["methods"]), Ballots(self.votes)
        ballots.check_class(plan["target"])
        seen = VoteContext(plan, self.sampled, text, claim, ballots, Shells(*own))
        _check_uniform(seen)
        _check_grid(seen)
        if claim.radius == 0:
            return  # it claims nothing of its input
        if text in ("np", "tailored"):
            check_one_bound(seen)
        elif text == "first-order":
            check_first_order(seen)
        else:
            check_double_sampling(seen)


def _check_uniform(seen: VoteContext) -> None:
    """The uniform number of randomized bounds comes from the seed alone."""
    claim, plan = seen.claim, seen.plan
    if (plan["bound"] == "randomized") != (claim.uniform is not None):
        raise Refuted("a uniform number belongs to randomized bounds, and to no others")
    if claim.uniform is not None:
        name = f"uniform {plan['seed']} {seen.ballots.index} {seen.text}"
        word = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        if claim.uniform != (word + 0.5) / 2**64:
            raise Refuted("the uniform number is not the one that the seed gives")


def _check_grid(seen: VoteContext) -> None:
    """The grid of the plan, and a charge for every law that is named."""
    claim, grid = seen.claim, seen.plan["grid"]
    if (grid is None) != (claim.grid is None):
        raise Refuted("a grid belongs to votes on a grid, and to no others")
    if claim.grid is None:
        return
    if claim.grid.step != grid["step"]:
        raise Refuted("the grid is not the one of the votes")
    laws = [None, *(one.law for one in claim.additional)]
    if not all(seen.charge(law) <= exact(claim.grid.variation) for law in laws):
        raise Refuted(f"noise on this grid costs more than {claim.grid.variation!r}")


def _text_of(method: str, methods: Sequence[str]) -> str:
    """The method of a plan whose certificates have this name."""
    for text in methods:
        kind = text.partition(":")[0]
        alone = sum(other.partition(":")[0] == kind for other in methods) == 1
        if method == (kind if alone else text):
            return text
    raise Refuted(f"the plan has no method {method!r}")
