"""What a router cost and saved, and which expert answered which input, from the votes of a run."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dsrs.measures.rounding import floor_text
from dsrs.methods import Plan
from dsrs.methods.experts import ROUTER, named_expert, place_of
from dsrs.proofs.certificate import distance_in, radius_less
from dsrs.proofs.routed import Routed
from dsrs.store.result import RunResult


@dataclass(frozen=True, slots=True)
class RoutedInput:
    """What the router and the experts came to for one input.

    Args:
        index: the number of the input.
        named: the expert that the router names.
        router_radius: within which the router provably names it.
        expert_radii: what is proved of each expert; None where it was not asked.
        radius: the certified radius.
        published: min(named expert, router): the radius if the router alone decides.
        excluded: whether the router excludes every rival as far as the named expert reaches.
        votes: those of the router, of the named expert, and of rivals.
    """

    index: int
    named: int
    router_radius: float
    expert_radii: tuple[float | None, ...]
    radius: float
    published: float
    excluded: bool
    votes: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class RoutingCost:
    """The votes of a routed run by who gave them, and what the router saved.

    Args:
        inputs: how many there are.
        router, named, rivals: votes of the router, of named experts and of rivals.
        not_asked: rivals that were not asked, of `pairs` in all.
        pairs: rivals of all inputs.
        times_single: for inputs whose rivals are all excluded as far as the named expert reaches,
            the median of all votes over those of the named expert; None where there is none.
        such: how many such inputs there are.
    """

    inputs: int
    router: int
    named: int
    rivals: int
    not_asked: int
    pairs: int
    times_single: float | None
    such: int


def routed_inputs(results: Iterable[RunResult], plan: Plan) -> list[RoutedInput]:
    """Router and experts of each input, by the certificates of the first method."""
    return [found for result in results if (found := _routed_input(result, plan)) is not None]


def _routed_input(result: RunResult, plan: Plan) -> RoutedInput | None:
    certificate = result.certificates.get(plan.names[0])
    named = named_expert(result.sampled, plan)
    if certificate is None or named is None or not isinstance(certificate.proof, Routed):
        return None
    proof, places = certificate.proof, Counter[int]()
    for votes in result.votes:
        places[votes.stream.classifier] += votes.total
    own = proof.experts[named].expert_reach
    return RoutedInput(
        result.index,
        named,
        proof.router_reach,
        tuple(None if part.proof is None else part.expert_reach for part in proof.experts),
        certificate.radius,
        radius_less(proof.published_reach, distance_in(plan.law, result.sampled.moved)),
        own > 0 and proof.router_reach >= own,
        (
            places[ROUTER],
            places[place_of(named)],
            sum(places.values()) - places[ROUTER] - places[place_of(named)],
        ),
    )


def routing_cost(results: Iterable[RunResult], plan: Plan) -> RoutingCost:
    """What the router of a run cost and saved."""
    found = routed_inputs(results, plan)
    sure = [sum(one.votes) / one.votes[1] for one in found if one.excluded and one.votes[1]]
    asked = sum(
        reach is not None
        for one in found
        for j, reach in enumerate(one.expert_radii)
        if j != one.named
    )
    pairs = len(found) * (len(plan.experts) - 1)
    router, named, rivals = (sum(one.votes[place] for one in found) for place in range(3))
    median = statistics.median(sure) if sure else None
    return RoutingCost(len(found), router, named, rivals, pairs - asked, pairs, median, len(sure))


def routing_lines(results: Sequence[RunResult], plan: Plan) -> list[str]:
    """For people: how the inputs were routed, and at which cost; nothing for other models."""
    if not plan.experts:
        return []
    found, cost = routed_inputs(results, plan), routing_cost(results, plan)
    by_expert = Counter(one.named for one in found)
    answered = ", ".join(f"{j}: {by_expert[j]}" for j in range(len(plan.experts)))
    lines = [
        f"routed: inputs by expert {answered}",
        f"router: {cost.router:,} votes; named experts {cost.named:,}, rivals {cost.rivals:,}; "
        f"{cost.not_asked} of {cost.pairs} rivals were not asked, which saved up to "
        f"{cost.not_asked * plan.n:,} votes",
    ]
    if cost.times_single is not None:
        times = floor_text(cost.times_single + 0.005, 2)
        lines.append(
            f"where the router excludes all rivals ({cost.such} inputs): {times} times the votes "
            "of the named expert (median)"
        )
    least = [one for one in found if one.radius >= one.published]
    larger = [one for one in found if one.radius > one.published]
    gain = sum(one.radius - one.published for one in larger) / max(1, len(found))
    lines.append(
        f"compared with min(expert, router): at least as large on {len(least)} of {len(found)} "
        f"inputs, larger on {len(larger)}, by {floor_text(gain, 4)} on average over all"
    )
    return lines
