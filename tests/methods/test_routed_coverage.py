"""Routed certificates are false at most alpha often: planted routers and experts, votes drawn.

Router and experts are half-spaces across one direction u, so all that matters is t = <u, delta>.
Under Gaussian noise the smoothed answer of a half-space is that of the half-space itself, and every
certificate of it is tight: a bound that is wrong makes a radius that is too large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import dsrs.methods.one_bound
import dsrs.methods.routed
import dsrs.methods.router
from dsrs.confidence import clopper_pearson_lower
from dsrs.laws import GeneralizedGaussian
from dsrs.laws.bins import HISTOGRAM_BINS
from dsrs.methods import Plan, Session, certificates_of
from dsrs.methods.experts import named_expert
from dsrs.methods.looks import Look, schedule
from dsrs.methods.router import Rival
from dsrs.proofs.certificate import Certificate
from dsrs.proofs.checking import find_flaw
from dsrs.proofs.routed import Routed
from dsrs.votes.records import SampledInput
from dsrs.votes.tally import Counts

ALPHA = 0.1
ROUTER, EXPERTS = 0.5, (0.5, 1.0, 0.7)
FAR = 3.0
LOOKS: dict[str, Any] = {"n": 1024, "batch": 64}  # a dozen looks at the router on the way


@dataclass(frozen=True)
class Planted:
    """The router answers 0 below the first of `borders`, 1 below the next, and so on; expert j
    answers the class 0 below `margins[j]`."""

    borders: tuple[float, ...]
    margins: tuple[float, ...]

    def plan(self, n: int = 256, **options: object) -> Plan:
        laws = [GeneralizedGaussian(4, sigma) for sigma in (ROUTER, *EXPERTS)]
        settings = {"n": n, "n0": 32, "alpha": ALPHA, "batch": 256, "grid": None} | options
        experts = tuple(laws[1 : 1 + len(self.margins)])
        return Plan(laws[0], ("np",), experts=experts, **settings)  # type: ignore[arg-type]

    def probabilities(self, place: int) -> list[float]:
        """How often each answer is voted for at delta = 0."""
        sigma = (ROUTER, *EXPERTS)[place]
        borders = self.borders if place == 0 else self.margins[place - 1 : place]
        below = [0.0, *(float(special.ndtr(border / sigma)) for border in borders), 1.0]
        return np.diff(below).tolist()

    @property
    def true_radius(self) -> float:
        """The least t at which the routed classifier answers another class."""
        for t in np.arange(0, 4, 1e-3):
            ends = special.ndtr((np.array([-np.inf, *self.borders, np.inf]) - t) / ROUTER)
            if t >= self.margins[int(np.argmax(np.diff(ends)))]:
                return float(t)
        return math.inf

    def sampled(self, plan: Plan, generator: np.random.Generator) -> SampledInput:
        session = Session(plan, 0, 0)
        while (unit := session.next()) is not None:
            chances = self.probabilities(unit.stream.classifier)
            votes = np.zeros((len(chances), HISTOGRAM_BINS), dtype=np.int64)
            votes[:, 0] = generator.multinomial(unit.stop - unit.first, chances)
            session.add(unit, Counts(votes))
        return session.finish(0.0)

    def certificate(self, plan: Plan, generator: np.random.Generator) -> Certificate:
        (found,) = certificates_of(self.sampled(plan, generator), plan).values()
        return found


def false_share(planted: Planted, plan: Plan, trials: int, seed: int = 0) -> float:
    generator = np.random.default_rng(seed)
    # The grid of t rounds the truth down by up to 1e-3.
    true = planted.true_radius + 1e-3
    return sum(planted.certificate(plan, generator).radius > true for _ in range(trials)) / trials


def most(trials: int) -> float:
    """The share that events of probability ALPHA exceed in at most one of a thousand tests."""
    return float(stats.binom.isf(1e-3, trials, ALPHA)) / trials


PLANTED = {
    "a router that wavers, rivals wrong where it ends": Planted((0.25,), (FAR, 0.25)),
    "experts that agree, a router that wavers": Planted((0.02,), (0.5, 0.5)),
    "the named expert is wrong just beyond its radius": Planted((FAR,), (0.5, 0.0)),
    "a rival that is wrong at once, just beyond the router": Planted((0.4,), (FAR, -1.0)),
    "three experts, compared one by one": Planted((0.3, 0.35), (FAR, FAR, -1.0)),
}


@pytest.mark.parametrize("name", PLANTED)
def test_certificates_of_planted_routers_are_false_at_most_alpha_often(name: str) -> None:
    planted, trials = PLANTED[name], 300
    assert 0 < planted.true_radius < FAR
    assert false_share(planted, planted.plan(), trials) <= most(trials)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_coverage_holds_with_looks_on_the_way(name: str) -> None:
    planted, trials = PLANTED[name], 250
    assert false_share(planted, planted.plan(**LOOKS), trials) <= most(trials)


@pytest.mark.slow
def test_all_of_alpha_at_every_look_fails_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    planted, trials = PLANTED["a router that wavers, rivals wrong where it ends"], 150

    def unsplit(n: int, alpha: float, batch: int) -> tuple[Look, ...]:
        return tuple(Look(look.votes, alpha) for look in schedule(n, alpha, batch))

    for module in (dsrs.methods.router, dsrs.methods.one_bound):
        monkeypatch.setattr(module, "schedule", unsplit)
    assert false_share(planted, planted.plan(**LOOKS), trials) > most(trials)


def test_the_law_of_a_rival_is_recorded_as_it_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A law is chosen at the share of alpha that a certificate has; another may choose another."""
    planted = PLANTED["a router that wavers, rivals wrong where it ends"]
    plan = planted.plan()
    seen = planted.sampled(plan, np.random.default_rng(1))
    named = named_expert(seen, plan)
    assert named is not None
    asked: dict[int, float] = {}
    method_of_expert = dsrs.methods.routed.RoutedMethod._of

    def spied(self: Any, expert: int, alpha: float, *goal: Any) -> Any:
        asked[expert] = alpha
        return method_of_expert(self, expert, alpha, *goal)

    method = dsrs.methods.routed.RoutedMethod(plan, "np")
    monkeypatch.setattr(dsrs.methods.routed.RoutedMethod, "_of", spied)
    method.choices(seen)
    rivals = {j: rival.alpha for j, rival in dsrs.methods.router.rivals_of(plan, named).items()}
    assert rivals
    assert asked == {named: ALPHA} | rivals
    assert all(alpha < ALPHA for alpha in rivals.values())


def test_both_parts_of_a_rival_at_alpha_fail_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    planted, trials = PLANTED["a router that wavers, rivals wrong where it ends"], 400
    plan = planted.plan()

    def unsplit(plan: Plan, expert: int) -> dict[int, Rival]:
        others = (j for j in range(len(plan.experts)) if j != expert)
        return {j: Rival(plan.alpha, plan.alpha, False) for j in others}

    monkeypatch.setattr(dsrs.methods.routed, "rivals_of", unsplit)
    assert false_share(planted, plan, trials) > most(trials)


def test_all_of_alpha_is_used_where_the_named_expert_decides() -> None:
    planted = PLANTED["the named expert is wrong just beyond its radius"]
    # Half of alpha would fail half as often: the share is the whole one.
    assert false_share(planted, planted.plan(), 600) > 0.6 * ALPHA


@pytest.mark.parametrize("name", PLANTED)
def test_the_radius_is_at_least_that_of_a_union_bound(name: str) -> None:
    planted, generator = PLANTED[name], np.random.default_rng(1)
    plan = planted.plan()
    for _ in range(20):
        seen = planted.sampled(plan, generator)
        (found,) = certificates_of(seen, plan).values()
        assert isinstance(found.proof, Routed)
        named = found.proof.named
        own, router = counted(seen, named + 1), counted(seen, 0)
        if router is not None and own is not None:
            expert = EXPERTS[named] * score(own[0], ALPHA / 2)
            others = [count for j, count in enumerate(router) if j != named]
            reach = ROUTER * score(router[named], ALPHA / 2)
            if len(others) > 1:  # compared with each
                lower = score(router[named], ALPHA / 4)
                reach = ROUTER / 2 * (lower + min(score(256 - n, ALPHA / 4) for n in others))
            assert found.radius >= min(expert, reach) - 1e-9
        assert found.proof.reach >= found.proof.published_reach
        assert find_flaw(found) is None


def score(hits: int, alpha: float) -> float:
    return float(special.ndtri(clopper_pearson_lower(hits, 256, alpha)))


def counted(seen: SampledInput, place: int) -> tuple[int, ...] | None:
    for votes in seen.votes:
        if votes.stream.classifier == place and votes.stream.purpose == "estimation":
            return votes.counts
    return None


def test_the_rival_is_asked_only_where_the_router_is_not_sure() -> None:
    generator = np.random.default_rng(2)
    sure, wavering = Planted((2.0,), (0.5, 0.5)), Planted((0.02,), (0.5, 2.0))
    asked = {
        name: {votes.stream.classifier for votes in planted.sampled(plan, generator).votes}
        for name, planted in (("sure", sure), ("wavering", wavering))
        for plan in [planted.plan(10_000)]
    }
    assert asked["sure"] == {0, 1}
    assert asked["wavering"] >= {0, 2}


def test_a_sure_router_costs_less_than_a_third_of_the_votes() -> None:
    generator, planted = np.random.default_rng(3), Planted((2.0,), (0.5, 0.5))
    votes = [
        sum(part.total for part in planted.sampled(planted.plan(10_000), generator).votes)
        for _ in range(11)
    ]
    assert np.median(votes) <= 1.3 * 10_000
