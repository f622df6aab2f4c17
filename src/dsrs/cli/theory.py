"""`dsrs theory`: check the paper's theorems numerically."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.cli.tables import table
from dsrs.rounding import floor_text

if TYPE_CHECKING:
    from dsrs.paper.concentration import Growth

THEOREM_6_DIMENSIONS = tuple(4**power for power in range(2, 14))
RATES = (0.5, 0.1, 0.05)
LINEAR_PROGRAM_ERROR = 1e-5  # of the radius: the root search and the cells of the plane

DESCRIPTION = """\
Checks of the paper's theorems, computed here and not taken from it:
  1  in the plane, Q on the decision region certifies the true radius
  2  under concentration the radius grows at least like 0.02 sigma sqrt(d)
  gamma  the table of GammaCDF_m(0.98 m) in the proof of Theorem 2
  6  for constant k no method can certify c sqrt(d)
"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "theory",
        help="check the paper's theorems numerically",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", choices=tuple(CHECKS), action="append", help="one check (may be repeated)"
    )
    parser.add_argument(
        "--figure", type=Path, metavar="FILE", help="draw Theorem 1 (png, pdf or svg)"
    )
    parser.add_argument("--json", action="store_true", help="numbers for programs")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    chosen = arguments.only or list(CHECKS)
    document: dict[str, Any] = {}
    holds = True
    for name in dict.fromkeys(chosen):
        text, numbers, passed = CHECKS[name]()
        holds &= passed
        document[name] = {"holds": passed, "numbers": numbers}
        if not arguments.json:
            print(text + f"\n=> {'holds' if passed else 'FAILS'}\n")
    if arguments.json:
        print(json.dumps(document, indent=2, allow_nan=False))
    if arguments.figure is not None:
        from dsrs.paper.figures.tightness import draw_tightness
        from dsrs.paper.tightness import check_theorem_1

        draw_tightness(check_theorem_1(), arguments.figure)
    return 0 if holds else 1


Checked = tuple[str, Any, bool]


def _tightness() -> Checked:
    from dsrs.paper.tightness import check_theorem_1

    result = check_theorem_1()
    rows = [
        ("Neyman-Pearson", floor_text(result.neyman_pearson, 5)),
        (f"Q truncated to the disc of radius {result.disc:.4f}", floor_text(result.truncated, 5)),
        ("Q on the decision region", floor_text(result.region, 5)),
        ("true radius of the smoothed classifier", floor_text(result.true_radius, 5)),
    ]
    text = (
        "Theorem 1: a star-shaped region in the plane, Gaussian noise, sigma = 1, "
        f"P_A = {result.p_a:.4f}\n" + table(rows, ["certificate", "radius"])
    )
    passed = (
        abs(result.region - result.true_radius) <= LINEAR_PROGRAM_ERROR
        and result.neyman_pearson < result.truncated < result.true_radius
    )
    return text, asdict(result), passed


def _growth() -> Checked:
    from dsrs.paper.concentration import theorem_2
    from dsrs.paper.dimension import paper_dimensions

    rows = theorem_2(paper_dimensions())
    text = (
        "Theorem 2: k = d/2 - 5, sigma = 1, P_con = 0.5; the lemma's radius (Q_A = 1) and the "
        "theorem's bound\n"
        + table(
            [
                (
                    growth.d,
                    floor_text(growth.radius, 4),
                    floor_text(growth.theorem_2, 4),
                    floor_text(growth.rate, 5),
                )
                for growth in rows
            ],
            ["d", "radius", "0.02 sqrt(d)", "radius / sqrt(d)"],
        )
    )
    return text, _growth_numbers(rows), all(g.radius >= g.theorem_2 for g in rows)


def _gamma() -> Checked:
    from dsrs.paper.concentration import gamma_table

    rows = gamma_table()
    text = "GammaCDF_m(0.98 m), proof of Theorem 2: at least 0.5 / 0.999 = 0.50051\n" + table(
        [(f"{row.m:.1f}", f"{row.cdf:.4f}", row.printed) for row in rows], ["m", "ours", "paper"]
    )
    numbers = [{"m": row.m, "cdf": row.cdf, "paper": row.printed} for row in rows]
    return text, numbers, all(row.agrees and row.suffices for row in rows)


def _impossibility() -> Checked:
    from dsrs.paper.concentration import THEOREM_2_RATE, first_impossible_dimension, theorem_6

    rows = theorem_6(THEOREM_6_DIMENSIONS)
    limits = {rate: first_impossible_dimension(rate) for rate in (*RATES, THEOREM_2_RATE)}
    text = (
        "Theorem 6: k = 0, sigma = 1, right exactly on the ball with P_con = 0.6; "
        "no method certifies more than the true radius\n"
        + table(
            [(g.d, floor_text(g.radius, 4), floor_text(g.rate, 5)) for g in rows],
            ["d", "true radius", "radius / sqrt(d)"],
        )
        + "\n"
        + "\n".join(
            f"{rate:g} sqrt(d) is impossible at d = {d:,} (2^{math.log2(d):.0f}) and beyond"
            for rate, d in limits.items()
        )
    )
    falling = all(after.rate < before.rate for before, after in pairwise(rows))
    numbers = {"growth": _growth_numbers(rows), "first_impossible": list(limits.items())}
    return text, numbers, falling


def _growth_numbers(rows: list[Growth]) -> list[dict[str, float]]:
    return [asdict(row) for row in rows]


CHECKS: dict[str, Callable[[], Checked]] = {
    "1": _tightness,
    "2": _growth,
    "gamma": _gamma,
    "6": _impossibility,
}
