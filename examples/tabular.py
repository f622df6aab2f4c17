"""Certify a classifier of tabular data, each feature in units of its own.

    python examples/tabular.py --output runs/cancer

The data is scikit-learn's breast cancer set: 30 measurements of a tumour in units that differ by a
factor of 100,000 (an area of 2,500 square micrometres, a fractal dimension of 0.05). With one sigma
for all of them, noise that a small feature bears does nothing to a large one. So each feature is
divided by its range in the training data; sigma and radii are in these scaled units.

Needs `pip install 'dsrs[sklearn]'`, nothing is fetched. What is run are ordinary commands, which
are printed.
"""

from __future__ import annotations

import argparse
import csv
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from dsrs.classifiers import Scaling
from dsrs.cli.main import main as dsrs
from dsrs.measures import floor_text
from dsrs.store import open_run

TRAINED = 400  # rows of the training data; the others are certified
NOISE = 0.15  # of the training, in scaled units
COPIES = 20  # noisy copies of each row
SHOWN = ("mean radius", "mean texture", "mean area", "worst concavity")


def data() -> Any:
    """The rows in a fixed random order, as scikit-learn ships them."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.utils import shuffle

    found = load_breast_cancer()
    found.data, found.target = shuffle(found.data, found.target, random_state=0)
    return found


def scaling() -> Scaling:
    """Each feature in units of its range over all rows; a hospital would write its own bounds."""
    found = data()
    return Scaling.of_data(found.data, "range", names=[str(name) for name in found.feature_names])


def model() -> Any:
    """What `--model examples/tabular.py:model` names: logistic regression on the raw features.

    It is trained on noisy copies, in the units in which it will be certified.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    found, units = data(), scaling()
    rows = np.repeat(found.data[:TRAINED], COPIES, axis=0)
    noise = np.random.default_rng(0).normal(0, NOISE, rows.shape) * np.asarray(units.unit)
    names = np.array([str(name) for name in found.target_names])
    labels = names[np.repeat(found.target[:TRAINED], COPIES)]
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.1)).fit(rows + noise, labels)


def write_data(output: Path) -> None:
    """test.csv with the rows that the model has not seen, and units.json."""
    found = data()
    with (output / "test.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow([*found.feature_names, "diagnosis"])
        for row, label in zip(found.data[TRAINED:], found.target[TRAINED:], strict=True):
            table.writerow([*row, found.target_names[label]])
    units = json.dumps(scaling().to_dict(), indent=1)
    (output / "units.json").write_text(units, encoding="utf-8")


def command(output: Path, votes: int) -> list[str]:
    """What a person would type."""
    return [
        *("certify", "--model", f"{Path(__file__)}:model"),
        *("--data", str(output / "test.csv"), "--label-column", "diagnosis"),
        *("--scale", str(output / "units.json"), "--sigma", "0.15"),
        *("--n", str(votes), "--q", "none", "--output", str(output / "run")),
    ]


def conclusion(output: Path) -> str:
    """What the median radius means for single features, in their own units."""
    with open_run(output / "run") as run:
        radii = [one.certificates["np"].radius for one in run.results()]
    units, median = scaling(), float(np.median(radii))
    lines = [f"half of the patients have a radius of {floor_text(median, 3)} or more: the answer"]
    lines.append("holds provably although one of these measurements, alone, is off by")
    for name in SHOWN:
        unit = units.unit[units.names.index(name)]
        lines.append(f"  {name:16} {floor_text(median * unit, 3):>8} (its range is {unit:.4g})")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("runs/cancer"))
    parser.add_argument("--votes", type=int, default=10_000, help="votes for each patient")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    write_data(chosen.output)
    words = command(chosen.output, chosen.votes)
    print(f"$ dsrs {shlex.join(words)}", flush=True)
    if dsrs(words):
        return 1
    print(conclusion(chosen.output))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
