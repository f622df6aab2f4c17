"""How near attacks come: `attack.py RUN` by P_A for an attacked run, `attack.py` for a half-space.

python benchmarks/attack.py runs/mnist
python benchmarks/attack.py --budget 75000
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsrs import AttackSettings, GeneralizedGaussian, Interval, attack_input, certify
from dsrs.classifiers import Classifier
from dsrs.store import attacked_inputs, open_run
from dsrs.votes import ESTIMATION

EDGES = (0.51, 0.7, 0.9, 0.99, 0.9995, 1.0)
D, SIGMA, SEEDS = 48, 0.5, 10


@dataclass(frozen=True)
class HalfSpace(Classifier):
    """Class 1 where the first value is below the margin, which is the true distance."""

    margin: float
    num_classes: int = 2
    bounds: tuple[float, float] = (0.0, 1.0)
    input_shape: tuple[int, ...] = (D,)
    fingerprint: str = "half-space"
    description: str = "a half-space"

    def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
        return (batch[:, 0] < self.margin).astype(np.int64)


def by_probability(path: str) -> None:
    """Proved counterexamples and mean ratio by the share of votes for the certified class."""
    found: list[tuple[float, float | None]] = []
    with open_run(path) as run:
        for index, one in attacked_inputs(run).items():
            votes = [v for v in run.result(index).votes if v.stream.additional is None]
            votes = [v for v in votes if v.stream.purpose == ESTIMATION] or votes
            share = sum(v.successes for v in votes) / sum(v.total for v in votes)
            found.append((share, one.ratio))
    spans = [(EDGES[0], EDGES[-2]), *itertools.pairwise(EDGES)]
    for low, high in spans:
        ratios = [ratio for share, ratio in found if low < share <= high]
        proved = [ratio for ratio in ratios if ratio is not None]
        mean = f"{np.mean(proved):.3f}" if proved else "-"
        print(f"{low:g} < P_A <= {high:g}: {len(proved)} of {len(ratios)} proved, ratio {mean}")


def half_space(budget: int) -> None:
    """Attacked over true distance at margins in units of sigma, over several seeds."""
    certificate = certify(GeneralizedGaussian(D, SIGMA), Interval(0.6, 1.0))
    zero = np.zeros(D, np.float32)
    for margin in (1.0, 1.5, 2.0, 3.0):
        ratios = []
        for seed in range(SEEDS):
            settings = AttackSettings(budget=budget, seed=seed)
            found = attack_input(HalfSpace(margin * SIGMA), zero, 1, certificate, settings)
            if found.attacked is not None:
                ratios.append(found.attacked / (margin * SIGMA))
        print(
            f"margin {margin:g} sigma: {len(ratios)} of {SEEDS} proved, attacked / true "
            f"{np.mean(ratios):.4f} on average, {max(ratios):.4f} at most"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?")
    parser.add_argument("--budget", type=int, default=75_000)
    arguments = parser.parse_args()
    if arguments.run:
        by_probability(arguments.run)
    else:
        half_space(arguments.budget)
