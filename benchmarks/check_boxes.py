"""How far the claimed dual bounds stay below the true ones: boxes certified, then checked.

    python benchmarks/check_boxes.py [--boxes N] [--seed N]

Half of the boxes are realistic, half nasty (boxes.py). For every kind of law and dimension it
prints how many the checker proves, and the distribution of (enclosed B - claimed B) over
certificates, the least over the steps of each. What the kernels subtract (docs/math.md 4) is too
little where that difference is not positive. Exit code 1 if it is not somewhere.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from boxes import Problem, nasty_boxes, realistic_boxes

import dsrs_check as checker
from dsrs import certify, check
from dsrs.certifying import Progress
from dsrs.cli import table
from dsrs.duality import compile_kernels
from dsrs.errors import InfeasibleBox
from dsrs.proofs import Certificate

UNIT = 1e-10


@dataclass(frozen=True)
class Box:
    """What the checker says of the certificate of a box.

    Args:
        proved: whether its radius is proved.
        reason: why it is not.
        surplus: the least enclosed B - claimed B over its steps; None where B is not enclosed.
        seconds: of the processor, for enclosing B once at each step.
        steps: how many the proof has.
    """

    proved: bool
    reason: str
    surplus: float | None
    seconds: float
    steps: int


def checked(certificate: Certificate) -> Box:
    """Prove a certificate, and enclose B at its steps beside that."""
    (verdict,) = check(certificate)
    before, steps = time.process_time(), certificate.proof.steps
    try:
        found = min(surpluses(certificate))
    except checker.NotProved:
        found = None
    seconds = time.process_time() - before
    return Box(verdict.proved, verdict.reason, found, seconds, len(steps))


def surpluses(certificate: Certificate) -> list[float]:
    """Return a lower bound of (B - claimed B) for each step."""
    law, seen = certificate.law, certificate.observations
    noise = checker.Noise(law.d, law.sigma, law.k, law.eta)
    laws = [noise.law(None), *(noise.law(each.law.pieces()) for each in seen)]
    intervals = [certificate.known_of_p, *(each.interval for each in seen)]
    found = []
    for step in certificate.proof.steps:
        with checker.proving(step.multipliers):
            mixed = [(x, own) for x, own in zip(step.multipliers, laws, strict=True) if x]
            value = checker.least_overlap(noise, mixed, Fraction(step.radius))
            for x, known in zip(step.multipliers, intervals, strict=True):
                value -= checker.exact(x) * (
                    1 - checker.exact(known.lower if x > 0 else known.upper)
                )
            found.append(float((value - checker.exact(step.dual_bound)).lower()))
    return found


def certificates(boxes: list[Problem]) -> list[Certificate]:
    """What the boxes prove; those that prove nothing are left out."""
    compile_kernels()
    found = []
    for law, p, seen in boxes:
        try:
            found.append(certify(law, p, *seen))
        except InfeasibleBox:
            continue
    return [each for each in found if each.radius > 0]


def law_names(certificate: Certificate) -> str:
    """The laws that the proof uses besides P."""
    used = {
        seen.law.kind
        for place, seen in enumerate(certificate.observations, start=1)
        if any(step.multipliers[place] for step in certificate.proof.steps)
    }
    signs = [value < 0 for step in certificate.proof.steps for value in step.multipliers]
    name = "+".join(sorted(used)) if len(used) < 3 else "three kinds"
    return f"{name or 'P alone'}{', negative' if any(signs) else ''}"


def dimension(certificate: Certificate) -> str:
    d = certificate.law.d
    return "2 to 10" if d <= 10 else "63, 65" if d <= 65 else f"{d:,}"


def report(found: dict[str, list[Box]], first: str) -> str:
    rows = []
    for name, group in sorted(found.items()):
        surplus = np.array([each.surplus for each in group if each.surplus is not None]) / UNIT
        quantiles = np.quantile(surplus, [0, 0.01, 0.5, 1]) if len(surplus) else [np.nan] * 4
        slowest = max(each.seconds / max(each.steps, 1) for each in group)
        proved = sum(each.proved for each in group)
        rows.append(
            [
                *(name, len(group), proved),
                *(f"{value:.4g}" for value in quantiles),
                f"{slowest:.2f}",
            ]
        )
    heads = ["least", "1%", "median", "most"]
    return table(rows, [first, "checked", "proved", *heads, "s a step, most"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boxes", type=int, default=60, help="how many (60)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    half = arguments.boxes // 2
    boxes = [*realistic_boxes(half, arguments.seed), *nasty_boxes(half, arguments.seed)]
    by_law: dict[str, list[Box]] = defaultdict(list)
    by_dimension: dict[str, list[Box]] = defaultdict(list)
    found = certificates(boxes)
    with Progress(len(found), "checking") as bar:
        for certificate in found:
            box = checked(certificate)
            by_law[law_names(certificate)].append(box)
            by_dimension[dimension(certificate)].append(box)
            bar.advance()
    print(f"enclosed B - claimed B, in units of {UNIT:g}\n")
    print(report(by_law, "laws of the proof"))
    print()
    print(report(by_dimension, "d"))
    boxes_by_name = [(name, box) for name, group in by_law.items() for box in group]
    for name, box in boxes_by_name:
        if not box.proved:
            print(f"not proved: {name}: {box.reason}")
    return int(any(box.surplus is not None and box.surplus <= 0 for _, box in boxes_by_name))


if __name__ == "__main__":
    sys.exit(main())
