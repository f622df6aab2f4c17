"""Two states of the package beside each other: what certificates cost, and whether radii changed.

    python benchmarks/old_and_new.py OLD/src NEW/src [--rounds 9] [--count 100]

The same boxes are certified by both, in processes of their own that take turns, so that a slow
minute of the machine meets both. Each process times SciPy's incomplete Beta function before and
after every group of boxes, and costs are given in that unit: evaluations of it a certificate.
Printed are medians over the rounds, and the largest changes of a radius, in units of sigma. Rows of
the recorded tables are included where they are at ../shared/reference.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

REFERENCE = Path(__file__).parents[2] / "shared" / "reference"
GROUPS = ("recorded P", "recorded P, Q", "realistic", "nasty")
# One certificate as plain data: P's parameters, its interval, and (law, lower, upper) of others.
Box = dict[str, Any]


def boxes(count: int) -> dict[str, list[Box]]:
    """The boxes of each group."""
    from boxes import nasty_boxes, realistic_boxes

    made: dict[str, list[Box]] = {}
    for name, table in zip(GROUPS, ("neyman_pearson", "double_sampling"), strict=False):
        path = REFERENCE / f"{table}.csv.gz"
        if path.exists():
            with gzip.open(path, "rt") as file:
                rows = [row for row in csv.DictReader(file) if float(row["k"]) > 0]
            made[name] = [_recorded(row) for row in rows[:: max(1, len(rows) // (3 * count))]]
    for name, problems in zip(
        GROUPS[2:], (realistic_boxes(2 * count, 1), nasty_boxes(count, 2)), strict=True
    ):
        made[name] = [
            {
                "law": law.to_dict(),
                "p": [p.lower, p.upper],
                "seen": [
                    [each.law.text, each.interval.lower, each.interval.upper] for each in seen
                ],
            }
            for law, p, seen in problems
        ]
    return made


def _recorded(row: dict[str, str]) -> Box:
    law = {"d": int(row["d"]), "sigma": float(row["sigma"]), "k": float(row["k"]), "eta": 2.0}
    box: Box = {"law": law, "p": [float(row["p_lower"]), float(row["p_upper"])], "seen": []}
    if row.get("q_shape") and row["fallback"] == "0":
        text = f"{row['q_shape']}:{row['q_value']}"
        box["seen"] = [[text, float(row["q_lower"]), float(row["q_upper"])]]
    return box


def beta_seconds() -> float:
    """Processor seconds of one evaluation of the incomplete Beta function."""
    from scipy import special

    x = np.linspace(0.001, 0.02, 20_000)
    began = time.process_time()
    for _ in range(5):
        special.betainc(0.5, 391.5, x)
    return (time.process_time() - began) / (5 * len(x))


def child() -> None:
    """Certify the boxes of the standard input with the package on the path; print the result."""
    import dsrs
    from dsrs.errors import DsrsError
    from dsrs.laws import parse_additional_law

    os.environ["DSRS_KERNELS"] = "compiled"
    dsrs.certify(dsrs.GeneralizedGaussian(784, 1.0, 380.0), dsrs.Interval(0.9, 1.0))
    # Radii of P alone are remembered, in a module that has moved.
    remembered = next(
        getattr(module, name)
        for place, module in sys.modules.items()
        for name in ("unit_neyman_pearson", "_unit_neyman_pearson")
        if place.startswith("dsrs.") and hasattr(module, name)
    )
    answer: dict[str, Any] = {}
    for name, group in json.load(sys.stdin).items():
        problems = []
        for box in group:
            law = dsrs.GeneralizedGaussian(**box["law"])
            seen = [
                dsrs.Observation(parse_additional_law(text, law), dsrs.Interval(low, high))
                for text, low, high in box["seen"]
            ]
            problems.append((law, dsrs.Interval(*box["p"]), seen))
        dsrs.certify(*problems[0][:2], *problems[0][2])  # loads what is compiled
        remembered.cache_clear()
        units, radii, spent = [beta_seconds()], [], 0.0
        for law, p, seen in problems:
            began = time.process_time()
            try:
                radius = dsrs.certify(law, p, *seen).radius / law.sigma
            except DsrsError:
                radius = -1.0  # intervals that no classifier has
            spent += time.process_time() - began
            radii.append(min(radius, 1e300))
        units.append(beta_seconds())
        answer[name] = {"cost": spent / len(problems) / statistics.fmean(units), "radii": radii}
    json.dump(answer, sys.stdout)


def answer_of(source: str, problems: str) -> dict[str, Any]:
    """What a process with this package on its path says."""
    environment = os.environ | {"PYTHONPATH": source, "DSRS_KERNELS": "compiled"}
    command = [sys.executable, __file__, "--child"]
    done = subprocess.run(
        command, input=problems, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return dict(json.loads(done.stdout))


def main() -> None:
    from dsrs.cli import table

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", help="folder that holds the package `dsrs` of before")
    parser.add_argument("new", help="folder that holds the package `dsrs` of now")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--count", type=int, default=100, help="boxes of a group, about")
    arguments = parser.parse_args()
    made = boxes(arguments.count)
    problems = json.dumps(made)
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in made}
    old = new = {}
    for number in range(arguments.rounds):
        sources = (arguments.old, arguments.new)
        # Who goes first alternates too.
        first, second = (answer_of(each, problems) for each in sources[:: -1 if number % 2 else 1])
        old, new = (second, first) if number % 2 else (first, second)
        for name in made:
            costs[name].append((old[name]["cost"], new[name]["cost"]))
        print(f"round {number + 1}", file=sys.stderr)
    rows = []
    for name, pairs in costs.items():
        before, after = (statistics.median(each) for each in zip(*pairs, strict=True))
        ratio = statistics.median(b / a for a, b in pairs)
        change = np.array(new[name]["radii"]) - np.array(old[name]["radii"])
        rows.append(
            [name, str(len(change)), f"{before:,.0f}", f"{after:,.0f}", f"{ratio - 1:+.1%}",
             f"{change.min():+.1e}", f"{change.max():+.1e}"]
        )  # fmt: skip
    print(
        table(
            rows,
            ["boxes", "number", "old, betainc", "new", "change", "radius: least change", "most"],
        )
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--child"]:
        child()
    else:
        main()
