"""Checks of the paper's theorems: what `dsrs theory` computes and shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from dsrs.measures.rounding import floor_printed
from dsrs.paper.concentration import (
    Growth,
    first_impossible_dimension,
    gamma_table,
    theorem_2,
    theorem_2_for_every_m,
    theorem_6,
)
from dsrs.paper.dimension import paper_dimensions
from dsrs.paper.multiclass import check_multiclass
from dsrs.paper.nested_classes import NestedClasses, check_nested_classes
from dsrs.paper.tightness import check_theorem_1, regions

EXPONENTS = (0, 1, 10, 100, 1000)  # the constant k of Theorem 6
THEOREM_6_DIMENSIONS = tuple(4**power for power in range(2, 14))
RATES = (0.5, 0.1, 0.05, 0.02)  # the last is Theorem 2's
LARGE_ENOUGH = 44  # the third recorded dimension: Theorem 2 is for "sufficiently large" d
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


CHECKS: dict[str, Callable[[], Checked]] = {
    "1": _tightness,
    "multiclass": _multiclass,
    "2": _growth,
    "gamma": _gamma,
    "6": _impossibility,
}
