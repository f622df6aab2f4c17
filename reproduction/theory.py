"""Checks of the paper's theorems: what `python -m reproduction theory` computes and shows.

Among them the corollary of Theorem 1 from votes, certified by the solver that certifies everything
else. The solver's laws depend on the noise norm alone, so the classes are nested: A is a disc
around the input, B a ring around it and C the rest, in the plane. C - 1 = 2 additional laws are P
on the regions of two classes. Every class is counted under every law, and each count becomes an
interval.

At a level c the class A is kept wherever f_A > c, 1 - f_B > 1 - c and 1 - f_C > 1 - c. Each of the
three is the probability of an event that the intervals bound, and the solver says how far it stays
above its level; the level is chosen so that A and the nearest rival meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from scipy import optimize, special

from dsrs.confidence import clopper_pearson
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, Truncated, Weighted
from dsrs.measures import floor_printed
from dsrs.proofs import Interval, Observation, best_level, certify, radius_above
from reproduction.growth import (
    Growth,
    first_impossible_dimension,
    gamma_table,
    paper_dimensions,
    theorem_2,
    theorem_2_for_every_m,
    theorem_6,
)
from reproduction.norms import OtherNorm, radius_in_norm
from reproduction.plane import check_multiclass, check_theorem_1, regions

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


EXPONENTS = (0, 1, 10, 100, 1000)  # the constant k of Theorem 6
THEOREM_6_DIMENSIONS = tuple(4**power for power in range(2, 14))
RATES = (0.5, 0.1, 0.05, 0.02)  # the last is Theorem 2's
LARGE_ENOUGH = 44  # the third recorded dimension: Theorem 2 is for "sufficiently large" d
LAPLACE_DIMENSIONS, LAPLACE_P = (2, 784, 150_528), 0.95
VOTE_LOSS = 1e-3  # of sigma: what a million votes leave of the true radius
LINEAR_PROGRAM_ERROR = 1e-5  # of the radius: the root search and the cells of the plane


@dataclass(frozen=True, slots=True)
class Shown:
    """A table for people."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found: tables for people, numbers for programs, and whether it holds."""

    tables: tuple[Shown, ...]
    numbers: Any
    holds: bool


def _tightness() -> Checked:
    results = [check_theorem_1(name) for name in regions()]
    rows = [
        (
            result.region,
            f"{result.p_a:.4f}",
            floor_printed(result.neyman_pearson, 5),
            floor_printed(result.truncated, 5),
            floor_printed(result.two_discs, 5),
            floor_printed(result.on_region, 5),
            floor_printed(result.true_radius, 5),
        )
        for result in results
    ]
    heads = ["region", "P_A", "NP", "truncated", "two discs", "Q on region", "true radius"]
    title = (
        "Theorem 1: star-shaped regions in the plane, Gaussian noise, sigma = 1. Truncated: Q is P "
        "on the\ninscribed disc; two discs: another Q on the circumscribed disc as well"
    )
    passed = all(
        abs(result.on_region - result.true_radius) <= LINEAR_PROGRAM_ERROR
        and result.neyman_pearson < result.truncated <= result.two_discs < result.true_radius
        for result in results
    )
    return Checked((Shown(title, heads, rows),), [asdict(result) for result in results], passed)


def _multiclass() -> Checked:
    result = check_multiclass()
    p_a, p_b, p_c = result.probabilities
    rows = [
        ("Neyman-Pearson, P_A > 1/2", result.neyman_pearson),
        ("Neyman-Pearson against the runner-up", result.runner_up),
        ("Theorem 1: Q on A, P_A > 1/2", result.theorem_1),
        ("corollary: laws on A and B", result.laws_on_a_and_b),
        ("the same, P_B known too", result.laws_on_a_and_b_with_p_b),
        ("corollary: laws on B and C, the rivals", result.laws_on_the_rivals),
        ("true radius of the smoothed classifier", result.true_radius),
    ]
    plane = Shown(
        "Corollary of Theorem 1: three classes in the plane, Gaussian noise, sigma = 1, "
        f"P_A = {p_a:.4f}, P_B = {p_b:.4f}, P_C = {p_c:.4f}",
        ["known", "radius"],
        [(name, floor_printed(radius, 5)) for name, radius in rows],
    )
    nested = check_nested_classes()
    best = max(max(radii.values()) for radii in nested.certified.values())
    tight = (result.laws_on_the_rivals, result.laws_on_a_and_b_with_p_b)
    passed = (
        all(abs(radius - result.true_radius) <= LINEAR_PROGRAM_ERROR for radius in tight)
        and abs(result.laws_on_a_and_b - result.theorem_1) <= LINEAR_PROGRAM_ERROR
        and nested.theorem_1 < best <= nested.true_radius <= best + VOTE_LOSS
    )
    numbers = {"plane": asdict(result), "nested": asdict(nested)}
    return Checked((plane, _nested_shown(nested)), numbers, passed)


def _nested_shown(nested: NestedClasses) -> Shown:
    rows = [
        ("Neyman-Pearson, P_A > 1/2", "exact", nested.neyman_pearson),
        ("Neyman-Pearson against the runner-up", "exact", nested.runner_up),
        ("Theorem 1: Q on A, P_A > 1/2", "exact", nested.theorem_1),
        *(
            (f"corollary: laws on {' and '.join(pair)}", f"{votes:,}", radius)
            for pair, radii in nested.certified.items()
            for votes, radius in radii.items()
        ),
        ("true radius of the smoothed classifier", "exact", nested.true_radius),
    ]
    return Shown(
        "The corollary from votes, by the solver of all certificates: disc, ring, rest",
        ["known", "votes under each law", "radius"],
        [(known, votes, floor_printed(radius, 5)) for known, votes, radius in rows],
    )


def _growth() -> Checked:
    rows = theorem_2(paper_dimensions())
    every_m = theorem_2_for_every_m(paper_dimensions())
    radii = Shown(
        "Theorem 2: k = d/2 - 5, sigma = 1, P_con = 0.5; the lemma's radius (Q_A = 1) and the "
        "theorem's bound",
        ["d", "radius", "0.02 sqrt(d)", "radius / sqrt(d)"],
        [
            (
                growth.d,
                floor_printed(growth.radius, 4),
                floor_printed(growth.theorem_2, 4),
                floor_printed(growth.rate, 5),
            )
            for growth in rows
        ],
    )
    rates = Shown(
        "and for every m = d/2 - k of the proof's table",
        ["m", "holds from d =", "least rate", "rate at the last d"],
        [
            (
                f"{row.m:.1f}",
                row.holds_from,
                floor_printed(row.least_rate, 5),
                floor_printed(row.last_rate, 5),
            )
            for row in every_m
        ],
    )
    numbers = {"growth": _growth_numbers(rows), "every_m": [asdict(row) for row in every_m]}
    holds = all(g.radius >= g.theorem_2 for g in rows)
    holds &= max(row.holds_from for row in every_m) <= LARGE_ENOUGH
    return Checked((radii, rates), numbers, holds)


def _gamma() -> Checked:
    rows = gamma_table()
    shown = Shown(
        "GammaCDF_m(0.98 m), proof of Theorem 2: at least 0.5 / 0.999 = 0.50050",
        ["m", "ours", "paper"],
        [(f"{row.m:.1f}", f"{row.cdf:.4f}", row.printed) for row in rows],
    )
    numbers = [{"m": row.m, "cdf": row.cdf, "paper": row.printed} for row in rows]
    return Checked((shown,), numbers, all(row.agrees and row.suffices for row in rows))


def _impossibility() -> Checked:
    growths = {
        k: theorem_6([d for d in THEOREM_6_DIMENSIONS if d > 2 * k], k=float(k)) for k in EXPONENTS
    }
    limits = {
        k: [first_impossible_dimension(rate, k=float(k)) for rate in RATES] for k in EXPONENTS
    }
    radii = Shown(
        "Theorem 6: constant k, sigma = 1, right exactly on the ball with P_con = 0.6; "
        "no method certifies more than the true radius",
        ["d", "true radius, k = 0", "radius / sqrt(d)"],
        [(g.d, floor_printed(g.radius, 4), floor_printed(g.rate, 5)) for g in growths[0]],
    )
    impossible = Shown(
        "c sqrt(d) is impossible at this power of two, and beyond",
        ["k", *(f"c = {rate:g}" for rate in RATES)],
        [(k, *(f"{d:,}" for d in limits[k])) for k in EXPONENTS],
    )
    falling = all(
        after.rate < before.rate for rows in growths.values() for before, after in pairwise(rows)
    )
    numbers = {
        "growth": {str(k): _growth_numbers(rows) for k, rows in growths.items()},
        "first_impossible": {
            str(k): dict(zip(map(str, RATES), limits[k], strict=True)) for k in EXPONENTS
        },
    }
    return Checked((radii, impossible), numbers, falling)


def _growth_numbers(rows: list[Growth]) -> list[dict[str, float]]:
    return [asdict(row) for row in rows]


def _norms() -> Checked:
    law = GeneralizedGaussian(784, 0.5, 380)
    p, q = Interval(0.915897, 1.0), Interval(0.997246, 1.0)
    second = Observation(Truncated(law, 0.5), q)
    alone, both = certify(law, p), certify(law, p, second)
    numbers: dict[str, Any] = {}
    norms: tuple[OtherNorm, ...] = ("l1", "linf")
    for norm in norms:
        numbers[norm] = {
            "own": [radius_in_norm(norm, law, p.lower, *laws) for laws in ((), (second,))],
            "l2": [alone.radius_in(norm), both.radius_in(norm)],
        }
    radii = Shown(
        "Appendix F.3: P- = 0.915897, and Q- = 0.997246 under truncated:0.5; d = 784, k = 380, "
        "sigma = 0.5",
        ["shifts in", "noise of that norm: P alone", "with Q", "l2 noise: P alone", "with Q"],
        [
            (norm, *(floor_printed(r, 4) for r in (*numbers[norm]["own"], *numbers[norm]["l2"])))
            for norm in norms
        ],
    )
    laplace = []
    for d in LAPLACE_DIMENSIONS:
        noise = GeneralizedGaussian(d, 0.5, 0.0, 1.0)
        exact = 0.5 / math.sqrt(2) * math.log(1 / (2 * (1 - LAPLACE_P)))
        laplace.append((d, radius_in_norm("l1", noise, LAPLACE_P), exact))
    closed = Shown(
        f"Independent Laplace noise of scale b, P_A = {LAPLACE_P:g}: the closed form is "
        "b ln(1 / (2 (1 - P_A)))",
        ["d", "radius", "closed form"],
        [(f"{d:,}", floor_printed(found, 6), f"{exact:.6f}") for d, found, exact in laplace],
    )
    numbers["laplace"] = [list(row) for row in laplace]
    holds = all(exact * (1 - 3e-6) < found <= exact for _, found, exact in laplace)
    return Checked((radii, closed), numbers, holds)


CHECKS: dict[str, Callable[[], Checked]] = {
    "1": _tightness,
    "multiclass": _multiclass,
    "2": _growth,
    "gamma": _gamma,
    "6": _impossibility,
    "norms": _norms,
}
