"""Queries a second of a plan that stops early: an input for each thread, or threads that share.

    python benchmarks/in_flight.py --model net.onnx --data MNIST/ --sigma 0.669 --radius 1.5

Rounds of both alternate, on the same inputs; the votes are the same.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from dsrs.certifying import certify_run
from dsrs.classifiers import load_classifier
from dsrs.datasets import load_dataset
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.methods import Plan
from dsrs.store import open_run
from dsrs.votes import ThreadExecutor


class Sharing(ThreadExecutor):
    """All threads share the votes of one input after the other."""

    def in_flight(self, votes: int, inputs: int) -> int:
        return super().in_flight(votes, inputs=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--sigma", type=float, required=True)
    parser.add_argument("--radius", type=float, required=True)
    parser.add_argument("--inputs", type=int, default=30, help="in a round (30)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    data = load_dataset(arguments.data)
    model = load_classifier(arguments.model, input_shape=data.input_shape)
    law = GeneralizedGaussian(data.input(0).size, arguments.sigma)
    plan = Plan(law, ("np",), radius=arguments.radius, grid=Grid.of_bounds(model.bounds))
    spent = {"an input for each thread": [0.0, 0.0], "all share an input": [0.0, 0.0]}
    for number in range(arguments.rounds):
        begin = number * arguments.inputs * 100
        indices = range(begin, begin + arguments.inputs * 100, 100)
        for name, kind in zip(spent, (ThreadExecutor, Sharing), strict=True):
            with tempfile.TemporaryDirectory() as folder:
                run = Path(folder) / "run"
                began = time.perf_counter()
                certify_run(model, data, plan, indices, run, executor=kind(arguments.workers))
                spent[name][1] += time.perf_counter() - began
                with open_run(run) as finished:
                    spent[name][0] += sum(one.sampled.queries or 0 for one in finished.results())
    for name, (queries, seconds) in spent.items():
        print(f"{name:26} {queries:10,.0f} queries  {queries / seconds:10,.0f} a second")


if __name__ == "__main__":
    main()
