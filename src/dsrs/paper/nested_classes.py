"""The corollary of Theorem 1 from votes, certified by the solver that certifies everything else.

The solver's laws depend on the noise norm alone, so the classes are nested: A is a disc around the
input, B a ring around it and C the rest, in the plane. C - 1 = 2 additional laws are P on the
regions of two classes. Every class is counted under every law, and each count becomes an interval.

At a level c the class A is kept wherever f_A > c, 1 - f_B > 1 - c and 1 - f_C > 1 - c. Each of the
three is the probability of an event that the intervals bound, and the solver says how far it stays
above its level; the level is chosen so that A and the nearest rival meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from scipy import optimize, special

from dsrs.confidence import clopper_pearson
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, Truncated, Weighted
from dsrs.proofs.evaluation import radius_above
from dsrs.proofs.interval import Interval, Observation
from dsrs.proofs.lead import best_level

NESTED_LAW = GeneralizedGaussian(d=2, sigma=1.0)
NESTED_SHARES = {"A": 0.55, "B": 0.15, "C": 0.30}  # of P
NESTED_ALPHA = 0.001
NESTED_VOTES = (10_000, 1_000_000)
NESTED_MEETING = 3e-4  # of sigma: how nearly A and the nearest rival must meet
PAIRS = ("A", "B"), ("B", "C")


class Reached(NamedTuple):
    """How far an event stays above a level."""

    radius: float
    level: float


@dataclass(frozen=True, slots=True)
class Event:
    """An event by its intervals under P and under the additional laws."""

    p: Interval
    seen: tuple[Observation, ...]

    def reach(self, level: float) -> Reached | None:
        """The radius within which it is provably likelier than `level`."""
        radius = radius_above(NESTED_LAW, self.p, self.seen, level)
        return Reached(radius, level) if radius > 0 else None


@dataclass(frozen=True, slots=True)
class NestedClasses:
    """Radii in units of sigma; `certified` by votes under each law, and the classes with laws."""

    neyman_pearson: float
    runner_up: float
    theorem_1: float
    certified: dict[str, dict[int, float]]
    true_radius: float


def laws_of_classes() -> dict[str, AdditionalLaw]:
    """P on the region of each class."""
    inner, outer = (float(special.gammaincinv(NESTED_LAW.m, share)) for share in _cuts())
    return {
        "A": Truncated(NESTED_LAW, NESTED_SHARES["A"]),
        "B": Weighted(NESTED_LAW, (inner, outer), (0.0, 0.0)),
        "C": Weighted(NESTED_LAW, (outer,), (0.0,), outer=0.0),
    }


def probabilities_at(radius: float) -> dict[str, float]:
    """f of every class at a shifted input: the shifted squared norm is noncentral chi-square."""
    inner, outer = (
        float(special.chndtr(norm**2, NESTED_LAW.d, radius**2))
        for norm in NESTED_LAW.radial_quantile(_cuts())
    )
    return {"A": inner, "B": outer - inner, "C": 1 - outer}


def certified_radius(votes: int, pair: tuple[str, ...]) -> float:
    """From so many votes under P and under the law of each class of the pair, expected counts."""
    laws = {name: law for name, law in laws_of_classes().items() if name in pair}
    every = len(NESTED_SHARES) * (1 + len(laws))

    def interval(share: float) -> Interval:
        bounds = clopper_pearson(round(votes * share), votes, NESTED_ALPHA / every)
        return Interval(float(bounds.lower), float(bounds.upper))

    def event(name: str, given: bool) -> Event:
        """That the class is given, or not."""
        p = NESTED_SHARES[name] if given else 1 - NESTED_SHARES[name]
        seen = (
            Observation(law, interval(1.0 if (name == own) == given else 0.0))
            for own, law in laws.items()
        )
        return Event(interval(p), tuple(seen))

    leader = event("A", True)
    nearest, *others = sorted(
        (name for name in NESTED_SHARES if name != "A"), key=NESTED_SHARES.__getitem__
    )[::-1]
    rival = event(nearest, False)
    met = best_level(leader.reach, rival.reach, 1 - rival.p.lower, leader.p.lower, NESTED_MEETING)
    if not met:
        return 0.0
    # The level at which A and its nearest rival meet serves for the others too.
    reached = [proof.radius for proof in met]
    for name in others:
        other = event(name, False).reach(met[1].level)
        reached.append(other.radius if other else 0.0)
    return min(reached)


@cache
def check_nested_classes() -> NestedClasses:
    """Every radius of the example."""
    top, second = sorted(NESTED_SHARES.values(), reverse=True)[:2]

    def margin(radius: float) -> float:
        f = probabilities_at(radius)
        return f["A"] - max(f["B"], f["C"])

    return NestedClasses(
        neyman_pearson=float(special.ndtri(top)),
        runner_up=float(special.ndtri(top) - special.ndtri(second)) / 2,
        theorem_1=optimize.brentq(lambda r: probabilities_at(r)["A"] - 0.5, 0, 5, xtol=1e-10),
        certified={
            "".join(pair): {votes: certified_radius(votes, pair) for votes in NESTED_VOTES}
            for pair in PAIRS
        },
        true_radius=optimize.brentq(margin, 0, 5, xtol=1e-10),
    )


def _cuts() -> tuple[float, float]:
    """Shares of P within A, and within A and B."""
    return NESTED_SHARES["A"], NESTED_SHARES["A"] + NESTED_SHARES["B"]
