"""Small data to certify, and `dsrs certify` on it in its own process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from dsrs.proofs import Certificate
from dsrs.store import open_run

HERE = Path(__file__).parent
INPUTS = 8

Certify = Callable[..., int]
Comparable = list[tuple[object, ...]]


def make_data(path: Path, inputs: int = INPUTS) -> None:
    generator = np.random.default_rng(0)
    means = np.linspace(0.3, 0.7, inputs)[:, None, None]
    images = (means + generator.uniform(-0.2, 0.2, (inputs, 4, 4))).astype(np.float32)
    np.savez(path, images=images, labels=(images.mean(axis=(1, 2)) > 0.5).astype(np.int64))


def make_named_data(path: Path) -> None:
    """The data as a table with names of classes, which `tiny_classifier:named` numbers otherwise.

    In the order of the alphabet `bright` is class 0; the model calls its class 1 so.
    """
    with np.load("data.npz") as data:
        images, labels = data["images"].reshape(-1, 16), data["labels"]
    rows = [
        ",".join([*map(repr, image.tolist()), ("dark", "bright")[label]])
        for image, label in zip(images, labels, strict=True)
    ]
    head = ",".join([*(f"pixel{place}" for place in range(16)), "label"])
    path.write_text("\n".join([head, *rows, ""]))


def certify_arguments(output: str = "run", model: str = "tiny_classifier:bright") -> list[str]:
    return [
        *("certify", "--model", model, "--num-classes", "2", "--data", "data.npz"),
        *("--sigma", "0.5", "--k", "4", "--n", "400", "--batch-size", "64", "--output", output),
    ]


def start_certify(
    folder: Path, output: str, *arguments: str, model: str = "tiny_classifier:slow"
) -> subprocess.Popen[str]:
    """`dsrs certify` of a slow classifier in its own process."""
    program = "import sys; from dsrs.cli.main import main; sys.exit(main())"
    paths = [str(HERE), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [
            *(sys.executable, "-c", program),
            *certify_arguments(output, model),
            *arguments,
        ],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background may ignore Ctrl-C, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def contents(folder: Path) -> Comparable:
    """Everything of a run but the time it took and the model."""
    with open_run(folder) as run:
        return [
            (
                *(result.index, result.label, result.predicted, result.target),
                *(result.votes, _of_any_model(result.certificates), result.thumbnail),
            )
            for result in run.results()
        ]


def _of_any_model(certificates: dict[str, Certificate]) -> dict[str, Certificate]:
    return {
        name: replace(found, subject=replace(found.subject, model=None))  # type: ignore[type-var]
        for name, found in certificates.items()
    }
