"""Routed models: the votes of router and experts, and which share of alpha each bound has.

The named expert has all of alpha. For every other expert the router's bound and the expert's own
certificate have half of it each; against a plain model the router has all (docs/routing.md). The
router is looked at on the way; so are the other experts, by methods that have looks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dsrs.audit.claims import Claim, SmoothingLaw
from dsrs.audit.kinds import Dual, Lead, Proof, Routed
from dsrs.audit.kinds.routed import Part, reach_of
from dsrs.audit.methods.ballots import SELECTION, Ballots
from dsrs.audit.methods.context import VoteContext, demand_bounds
from dsrs.audit.methods.one_bound import counted_at, looks_of
from dsrs.audit.methods.plan import Plan
from dsrs.audit.reading import Fields, field, optional, shown
from dsrs.audit.verdicts import Refuted

Check = Callable[[VoteContext], None]
WITH_LOOKS = ("np", "tailored")


class RoutedBallots:
    """The votes of one input by classifier: the router, and each expert as if it were alone."""

    def __init__(self, votes: Any, plan: Plan) -> None:
        units = field(votes, "votes", list)
        places = range(len(plan.experts) + 1)
        if any(optional(unit, "classifier", int) not in places for unit in units):
            raise Refuted("votes of a classifier that the plan does not have")
        for unit in units:
            _check_noise(unit, plan)
        first = [unit for unit in units if _place(unit) == 0 and unit.get("purpose") == SELECTION]
        counts = field(first[0], "counts", list) if first else []
        if len(counts) != len(plan.experts):
            raise Refuted("the selection votes of the router do not name an expert")
        if sum(counts) != plan.n0:
            raise Refuted(f"{sum(counts)} selection votes name an expert, not {plan.n0}")
        self.named = counts.index(max(counts))
        self.router = _ballots(votes, 0, {"target": self.named, "label": None})
        self.experts = [_ballots(votes, place, {}) for place in places[1:]]

    @property
    def answering(self) -> Ballots:
        """Those of the named expert."""
        return self.experts[self.named]

    def check_class(self, plan: Plan) -> None:
        """Raise unless the certified class is the label, or the named expert's votes chose it; a
        plain model has no votes that choose, and no certificates."""
        of_label = plan.target == "label" and self.answering.label is not None
        if plan.experts[self.named] is not None or of_label:
            self.answering.check_class(plan.target, plan.n0)


def _place(unit: Fields) -> int:
    return int(unit.get("classifier", 0))


def _check_noise(unit: Fields, plan: Plan) -> None:
    """Raise unless votes were taken under the noise of their classifier."""
    place, base = _place(unit), optional(unit, "base", dict)
    if place == 0 and base is not None:
        raise Refuted("the router has the smoothing law of the plan, and no other")
    law = None if place == 0 else plan.experts[place - 1]
    if law is not None and (base is None or SmoothingLaw.read(base) != law):
        raise Refuted(f"the noise of expert {place - 1} is not the one of the plan")


def _ballots(votes: Fields, place: int, changes: Mapping[str, Any]) -> Ballots:
    mark = f"expert {place - 1}: "
    choices = {
        text.removeprefix(mark): optional(field(votes["choices"], text, dict), "law", dict)
        for text in field(votes, "choices", dict)
        if text.startswith(mark)
    }
    # As if it were the only classifier, whose noise is that of its own plan.
    alone = {"classifier": 0, "base": None}
    own = [{**unit, **alone} for unit in votes["votes"] if _place(unit) == place]
    return Ballots({**votes, "votes": own, "choices": choices, **changes})


def check_routed(
    seen: tuple[Plan, Plan, str], claim: Claim, proof: Proof, ballots: RoutedBallots, check: Check
) -> None:
    """Raise unless every bound of a routed proof follows from the votes at its share of alpha.

    Args:
        seen: the plan that made the certificate, the plan that took the votes, the method.
        claim: the certificate.
        proof: its proof.
        ballots: the votes of the input.
        check: how the bounds of one expert are checked by the method.
    """
    plan, sampled, text = seen
    if not isinstance(proof, Routed):
        raise Refuted("the proof of a routed model must be of the kind routed")
    if proof.named != ballots.named or len(proof.experts) != len(plan.experts):
        raise Refuted(f"the router's votes name expert {ballots.named}, not {proof.named}")
    if Fraction(proof.alpha) != plan.exact_alpha:
        raise Refuted(f"the proof spends alpha = {proof.alpha!r}, and the plan {plan.alpha!r}")
    for j, part in enumerate(proof.experts):
        law = plan.experts[j]
        said = None if part.law is None else SmoothingLaw.read(part.law)
        if said != law:
            raise Refuted(f"the noise of expert {j} is not the one of the plan")
        _check_shares(part, plan, j, proof.named)
        if part.proof is not None and part.proof.steps and law is not None:
            alone = j == proof.named
            own, taken = (_plan_of(one, law, part.alpha, text, alone) for one in (plan, sampled))
            context = _context(own, taken, text, claim, part.proof, ballots.experts[j])
            context.check_charge()
            check(context)
        if part.excluded is not None and part.excluded.steps:
            _check_exclusion(plan, claim, part, j, ballots)


def _check_shares(part: Part, plan: Plan, j: int, named: int) -> None:
    """Raise unless the shares of alpha are those that the plan fixes."""
    alpha = plan.exact_alpha
    own = alpha if j == named else Fraction(0) if plan.experts[j] is None else alpha / 2
    router = Fraction(0) if j == named else alpha - own
    if Fraction(part.alpha) not in (own, 0) or Fraction(part.router_alpha) not in (router, 0):
        raise Refuted(
            f"the shares of alpha of expert {j} are {part.alpha!r} and {part.router_alpha!r}"
        )


def _plan_of(plan: Plan, law: SmoothingLaw, alpha: float, text: str, alone: bool) -> Plan:
    """The plan of one expert; those beside the named one are looked at on the way."""
    adaptive = plan.adaptive if alone else text in WITH_LOOKS
    return replace(plan, law=law, alpha=alpha, experts=(), adaptive=adaptive)


def _context(
    plan: Plan, sampled: Plan, text: str, claim: Claim, proof: Proof, ballots: Ballots
) -> VoteContext:
    own = replace(claim, law=plan.law, radius=reach_of(proof), np_radius=None)
    return VoteContext(plan, sampled, text, own, proof, ballots)


def _check_exclusion(plan: Plan, claim: Claim, part: Part, j: int, ballots: RoutedBallots) -> None:
    """Raise unless the router's bounds against expert j follow from its votes."""
    proof, law = part.excluded, plan.law
    leads = len(plan.experts) > 2 and law.norm == "l2"
    if isinstance(proof, Lead) != leads:
        raise Refuted("a router of two experts has a majority, one of more is compared with each")
    if isinstance(proof, Lead):
        lower, rival = proof.lower, proof.rival
        if proof.q is not None or proof.p is not None:
            raise Refuted("a router is bounded under its own noise alone")
    elif isinstance(proof, Dual) and not proof.additional and proof.p.upper == 1:
        lower, rival = proof.p.lower, None
    else:
        raise Refuted(f"no votes of the router give the bounds {shown(proof)}")
    seen = _context(plan, plan, "", claim, proof, ballots.router)
    seen.check_charge()
    looks = looks_of(replace(plan, alpha=part.router_alpha, adaptive=True), plan.n)
    counted = [
        (count, count.counts[j] if leads else 0, alpha)
        for count, alpha in counted_at(looks, ballots.router, None)
    ]
    names = (" of the router", f"expert {j}")
    demand_bounds(lower, rival, counted, seen.charge(None), names=names)
