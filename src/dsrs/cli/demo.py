"""`dsrs demo`: the whole path on the model and the images that come with the package."""

from __future__ import annotations

import argparse
import json
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from dsrs.cli.progress import Progress
from dsrs.cli.report import summary_text
from dsrs.errors import InvalidInput

DESCRIPTION = """\
Certify 100 Fashion-MNIST test images with a small classifier that was trained under noise by
this package, by Neyman-Pearson and by double sampling at the same number of queries; print both
tables and the gain, and write a report to open in a browser. Needs no GPU, no download and no
PyTorch. Stop it with Ctrl-C; the same command continues.
"""


def add_parser(verbs: Any) -> None:
    parser = verbs.add_parser(
        "demo",
        help="certify the embedded model and images, and write a report",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--n", type=int, default=10_000, help="votes of each method (10,000)")
    parser.add_argument("--images", type=int, default=100, help="how many of the 100 images")
    parser.add_argument("--output", type=Path, default=Path("runs/demo"), help="run folder")
    parser.add_argument("--workers", type=int, help="threads (default: all cores)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from dsrs.classifiers import load_classifier
    from dsrs.datasets import load_dataset
    from dsrs.laws import GeneralizedGaussian
    from dsrs.reports import make_report, read_runs, write_page
    from dsrs.runs.certifying import certify_run
    from dsrs.strategies import NEYMAN_PEARSON, Plan

    with as_file(files("dsrs") / "demo") as folder:
        card = json.loads((folder / "card.json").read_text())
        dataset = load_dataset(folder / "images.npz")
        if not 1 <= arguments.images <= len(dataset):
            raise InvalidInput(f"--images must be from 1 to {len(dataset)}, got {arguments.images}")
        plan = Plan(
            law=GeneralizedGaussian.from_dict(card["law"]),
            n=arguments.n,
            methods=(NEYMAN_PEARSON, "truncated:heuristic", "rescaled:0.8x"),
            # Where every first vote agrees, more votes under P prove more than votes under Q.
            fallback=True,
        )
        certify_run(
            load_classifier(str(folder / "model.onnx"), input_shape=dataset.input_shape),
            dataset,
            plan,
            range(arguments.images),
            arguments.output,
            workers=arguments.workers,
            progress=lambda total: Progress(total, "certifying", quiet=arguments.quiet),
        )
    report = make_report(read_runs([str(arguments.output)]))
    print(summary_text(report))
    page = arguments.output.with_name(arguments.output.name + "-report.html")
    write_page(report, page, "Certified robustness: the embedded demo")
    print(f"open {page.resolve().as_uri()} in a browser")
    return 0
