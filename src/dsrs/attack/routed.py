"""Attack a routed classifier: where the named expert changes its mind, where the router does, where
another expert does beyond the router's border; and a proof that the routed answer changed.

The search may use any votes. A point that it found is fixed before the votes that prove: with the
share a of alpha, the router's votes must show that it answers some expert j there with probability
above 1/2 (a lower bound at a / 2), and those of expert j that another class is ahead of the target
(verification.py, at a / 2; a plain model is asked without noise and needs none). Expert j and the
other class are chosen by votes before these. So the routed answer at the point is another class,
except with probability a; the points of an input share alpha.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from threading import Event
from time import perf_counter

import numpy as np

from dsrs.attack.aim import Aim, Floats
from dsrs.attack.box import Room
from dsrs.attack.pursuit import LEAST_BATCHES, pursue
from dsrs.attack.verification import proved
from dsrs.confidence import clopper_pearson_lower
from dsrs.errors import InvalidInput
from dsrs.methods import Plan
from dsrs.methods.experts import expert_stream, place_of, router_stream
from dsrs.noise.stream import PLAIN, Stream
from dsrs.proofs.counterexample import AttackedInput, Candidate, Shown
from dsrs.proofs.routed import Routed

ROUTED_SEARCH_SHARE = Fraction(3, 5)  # of the budget: the rest proves


def check_routed_budget(budget: int, plan: Plan) -> None:
    """Refuse a budget that cannot be split between the searches of router and experts."""
    searches, batch = len(plan.smoothing_laws), plan.batch
    least = math.ceil(LEAST_BATCHES * batch * searches / ROUTED_SEARCH_SHARE)
    if budget < least:
        raise InvalidInput(
            f"`budget` must be at least {least} votes for a routed model with {searches} smoothed "
            f"members (router and experts) where a forward pass has {batch} rows, got {budget}"
        )


@dataclass(frozen=True, slots=True)
class RoutedAim:
    """What is attacked: the whole as `aim` has it, its plan, its proof, and where one may go."""

    aim: Aim
    plan: Plan
    proof: Routed
    room: Room
    stop: Event

    def member(self, place: int) -> Aim | None:
        """The aim at one classifier alone: an expert's class, or the expert that the router
        names; None for a plain model."""
        law = self.plan.law if place == 0 else self.plan.experts[place - 1]
        if law is None:
            return None
        target = self.proof.named if place == 0 else self.aim.target
        model = self.aim.classifier.member(place)
        return replace(self.aim, classifier=model, law=law, target=target, claim="lead")

    def votes(self, delta: Floats, stream: Stream, count: int) -> tuple[int, ...]:
        """Votes at a perturbed input, by class or by expert."""
        return self.aim.votes(delta, stream, count, self.stop).by_class


def pursue_routed(
    of: RoutedAim, certified: float, method: str, *, budget: int, alpha: float, eps: float | None
) -> AttackedInput:
    """Attack one routed input with at most about `budget` votes."""
    started, aim = perf_counter(), of.aim
    found, spent = _searched(of, certified, method, budget, alpha, eps)
    points = sorted(_points(of, found), key=aim.length)
    points = [one for one in points if eps is None or aim.length(one) <= eps]
    candidates: list[Candidate] = []
    each = max(0, budget - spent) // max(1, len(points))
    for number, delta in enumerate(points):
        candidates.append(_verified(of, delta, each, alpha / len(points), number))
        spent += each
    proofs = [n for n, one in enumerate(candidates) if one.ends("routed")]
    nearest = min(proofs, key=lambda n: candidates[n].norm, default=None)
    chosen = len(points) - 1 if nearest is None else nearest
    return AttackedInput(
        index=aim.index,
        target=aim.target,
        method=method,
        claim="routed",
        certified=certified,
        candidates=tuple(candidates),
        nearest=nearest,
        perturbation=aim.perturbation(points[chosen]) if points else None,
        votes=spent,
        estimate=None,
        seconds=perf_counter() - started,
        norm=aim.norm,
        eps=eps,
    )


def _searched(
    of: RoutedAim, certified: float, method: str, budget: int, alpha: float, eps: float | None
) -> tuple[dict[int, Floats], int]:
    """For each classifier the perturbation at which its own claim seems to end, and the votes."""
    if eps is not None and certified > eps:
        return {}, 0
    aims = {place: of.member(place) for place in range(len(of.plan.experts) + 1)}
    known = {place: aim for place, aim in aims.items() if aim is not None}
    each = int(ROUTED_SEARCH_SHARE * budget) // len(known)
    found, spent = {}, 0
    for place, aim in known.items():
        one = pursue(aim, of.room, 0.0, method, budget=each, alpha=alpha, stop=of.stop)
        spent += one.votes
        if one.perturbation is not None:
            found[place] = one.perturbation.astype(np.float64).ravel()
    return found, spent


def _points(of: RoutedAim, found: dict[int, Floats]) -> Iterator[Floats]:
    """Where the routed answer may change: where the named expert's does; at the router's border;
    where another expert's does, and there beyond the border too."""
    router, named = found.get(0), place_of(of.proof.named)
    yield from found.values()
    if router is not None:
        yield from (router + delta for place, delta in found.items() if place not in (0, named))


def _verified(of: RoutedAim, delta: Floats, votes: int, alpha: float, number: int) -> Candidate:
    """What fresh votes prove of the routed answer at a perturbed input."""
    aim, plan, batch = of.aim, of.plan, of.aim.setting.batch
    name = f"attack verification {number}"
    expert = int(np.argmax(of.votes(delta, router_stream(plan, f"{name}, naming"), batch)))
    first = of.votes(delta, expert_stream(plan, expert, f"{name}, class"), batch)
    rival, half = aim.rival(first), max(batch, (votes // 2 - batch) // batch * batch)
    stream = expert_stream(plan, expert, name)
    plain = stream.purpose == PLAIN
    counts = of.votes(delta, stream, 1 if plain else half)
    router = of.votes(delta, router_stream(plan, name), half)
    grid = aim.setting.grid
    slack = {law: 0.0 if grid is None else grid.variation(law) for law in plan.smoothing_laws}
    routed = clopper_pearson_lower(router[expert], half, alpha / 2) - slack[plan.law] > 0.5
    shown: Shown = "nothing"
    if routed and plain:
        shown = "nothing" if counts[aim.target] else "answer changed"
    elif routed:
        strays = slack[stream.base]
        shown = proved(counts, aim.target, rival, "lead", alpha / 2, strays)
    seed = aim.setting.seed
    return Candidate(aim.length(delta), counts, rival, alpha, shown, "votes", seed, name)
