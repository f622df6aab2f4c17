"""The methods whose bounds this check can derive from votes. Each has its own file and a line here.

docs/votes.md and docs/math.md 11 say why each rule keeps its alpha. Here it is shown that the
bounds of a certificate are those that its rule gives, or weaker. A method that is not in
CHECKED_METHODS is undecided, by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dsrs.audit.balls import precision
from dsrs.audit.claims import Claim
from dsrs.audit.kinds import Proof
from dsrs.audit.methods.ballots import Ballots
from dsrs.audit.methods.context import VoteContext
from dsrs.audit.methods.double_sampling import check_double_sampling
from dsrs.audit.methods.neyman_pearson import check_neyman_pearson
from dsrs.audit.methods.plan import Plan
from dsrs.audit.methods.tailored import check_tailored
from dsrs.audit.reading import shown
from dsrs.audit.verdicts import Refuted, Undecided
from dsrs.audit.weights import CHECKED_LAWS

# By the first word of a method, as plans write it: `truncated` stands for `truncated:0.6` too.
CHECKED_METHODS: dict[str, Callable[[VoteContext], None]] = {
    "np": check_neyman_pearson,
    "tailored": check_tailored,
    "truncated": check_double_sampling,
    "rescaled": check_double_sampling,
    "weighted": check_double_sampling,
}


class BoundsFromVotes:
    """Checks the bounds of one certificate of a run; raises Refuted or Undecided.

    Args:
        plan: the JSON of the plan that made the certificate.
        sampled: the JSON of the plan that took the votes.
        method: the name of the certificate in the run, such as `np` or `truncated`.
        votes: the JSON of the input's votes.
        model: the fingerprint of the model that voted, where it is known.
        certificates: how many the run has.
    """

    def __init__(
        self,
        plan: Any,
        sampled: Any,
        method: str,
        votes: Any,
        model: Any = None,
        certificates: int = 1,
    ) -> None:
        self.plan, self.sampled, self.method, self.votes = plan, sampled, method, votes
        self.model, self.certificates = model, certificates

    def __call__(self, claim: Claim, proof: Proof | None) -> None:
        with precision():
            self._check(claim, proof)

    def _check(self, claim: Claim, proof: Proof | None) -> None:
        plan, sampled = Plan.read(self.plan), Plan.read(self.sampled)
        if plan.family_size is not None and plan.family_size < self.certificates:
            raise Refuted(
                f"family_alpha is divided among {plan.family_size} certificates, and the run has "
                f"{self.certificates}"
            )
        if claim.law != plan.law or plan.law != sampled.law:
            raise Refuted("the smoothing law is not the one that was sampled")
        # Votes that are there can be certified at another alpha and by other methods: all else was
        # fixed before them. The budget and the looks could else be chosen to suit
        # them.
        free = ("alpha", "methods", "family_size")
        if replace(plan, **{name: getattr(sampled, name) for name in free}) != sampled:
            raise Refuted("the plan is not that of the votes in more than alpha and methods")
        short = plan.radius is not None and claim.radius < plan.radius
        if (claim.status == "short") != short:
            raise Refuted(f"status {claim.status}, and a radius of {plan.radius} was asked for")
        text, ballots = _text_of(self.method, plan.methods), Ballots(self.votes)
        ballots.check_class(plan.target, plan.n0)
        ballots.check_prediction()
        _check_grid_step(claim, plan)
        known = {
            "class": ballots.target,
            "alpha": plan.alpha,
            "method": text,
            "n": plan.n,
            "seed": plan.seed,
            "index": ballots.index,
            "model": self.model,
        }
        _check_subject(claim, known)
        if proof is None or claim.radius == 0:
            return  # it claims nothing of its input
        word, _, parameter = text.partition(":")
        check = CHECKED_METHODS.get(word) if not parameter or word in CHECKED_LAWS else None
        if check is None:
            raise Undecided(f"this check does not know the method {shown(text)}")
        seen = VoteContext(plan, sampled, text, claim, proof, ballots)
        seen.check_charge()
        check(seen)


def _check_grid_step(claim: Claim, plan: Plan) -> None:
    """The grid of a certificate is that of the plan."""
    if (plan.grid_step is None) != (claim.grid is None):
        raise Refuted("a grid belongs to votes on a grid, and to no others")
    if claim.grid is not None and claim.grid.step != plan.grid_step:
        raise Refuted("the grid is not the one of the votes")


def _check_subject(claim: Claim, known: Mapping[str, Any]) -> None:
    """Raise Refuted where certificate and run disagree on what the certificate is about."""
    for name, expected in known.items():
        said = None if claim.subject is None else claim.subject.get(name)
        if said is not None and expected is not None and said != expected:
            raise Refuted(f"its subject has {name} {shown(said)}, and the run {shown(expected)}")


def _text_of(method: str, methods: Sequence[str]) -> str:
    """The method of a plan whose certificates have this name, or are named by its whole text."""
    if method in methods:
        return method
    for text in methods:
        kind = text.partition(":")[0]
        alone = sum(other.partition(":")[0] == kind for other in methods) == 1
        if method == (kind if alone else text):
            return text
    raise Refuted(f"the plan has no method {shown(method)}")
