"""How far the claimed dual bounds stay below the true ones: boxes certified, then checked.

    python benchmarks/check_boxes.py [--boxes N] [--seed N]

Half of the boxes are realistic, half nasty (boxes.py). For every kind of law and dimension it
prints the verdicts and the distribution of (rigorous B - claimed B) over certificates, the least
over the steps of each. What the kernels subtract (docs/math.md 4) is too little where that
difference is not positive. Exit code 1 if a certificate is refuted.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict

import numpy as np
from boxes import Problem, nasty_boxes, realistic_boxes

from dsrs import certify
from dsrs.audit import Verdict, check
from dsrs.certifying import Progress
from dsrs.cli import table
from dsrs.duality import compile_kernels
from dsrs.errors import InfeasibleBox
from dsrs.proofs import Certificate

UNIT = 1e-10


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


def report(verdicts: dict[str, list[Verdict]], first: str) -> str:
    rows = []
    for name, group in sorted(verdicts.items()):
        surplus = np.array([each.surplus for each in group if each.surplus is not None]) / UNIT
        quantiles = np.quantile(surplus, [0, 0.01, 0.5, 1]) if len(surplus) else [np.nan] * 4
        slowest = max(each.seconds / max(each.steps, 1) for each in group)
        words = [sum(each.word == word for each in group) for word in ("verified", "refuted")]
        rows.append(
            [
                *(name, len(group), *words, len(group) - sum(words)),
                *(f"{value:.4g}" for value in quantiles),
                f"{slowest:.2f}",
            ]
        )
    heads = ["least", "1%", "median", "most"]
    return table(
        rows, [first, "checked", "verified", "refuted", "undecided", *heads, "s a step, most"]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boxes", type=int, default=60, help="how many (60)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    half = arguments.boxes // 2
    boxes = [*realistic_boxes(half, arguments.seed), *nasty_boxes(half, arguments.seed)]
    by_law: dict[str, list[Verdict]] = defaultdict(list)
    by_dimension: dict[str, list[Verdict]] = defaultdict(list)
    found = certificates(boxes)
    with Progress(len(found), "checking") as bar:
        for certificate in found:
            verdict = check(certificate)
            by_law[law_names(certificate)].append(verdict)
            by_dimension[dimension(certificate)].append(verdict)
            bar.advance()
    print(f"rigorous B - claimed B, in units of {UNIT:g}\n")
    print(report(by_law, "laws of the proof"))
    print()
    print(report(by_dimension, "d"))
    doubtful = [
        (name, verdict) for name, group in by_law.items() for verdict in group if not verdict
    ]
    for name, verdict in doubtful:
        print(f"{verdict.word}: {name}: {verdict.reason}")
    return 1 if any(verdict.word == "refuted" for _, verdict in doubtful) else 0


if __name__ == "__main__":
    sys.exit(main())
