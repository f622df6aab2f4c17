"""Notes on the inputs that choose: of which split they are, and what the model says of them."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dsrs.cli.model_options import other_split
from dsrs.errors import DataError
from dsrs.measures import floor_text

if TYPE_CHECKING:
    from dsrs.classifiers import Classifier
    from dsrs.datasets import Dataset

INPUTS_PER_SPLIT = 256  # of each split


def note_on_split(arguments: argparse.Namespace, model: Classifier, dataset: Dataset) -> None:
    """Say that the train split may flatter, and how accuracies without noise differ."""
    if arguments.split != "train" or dataset.labels is None:
        return
    try:
        test = other_split(arguments, dataset, model, split="test")
    except DataError:
        return
    if test is None or test.labels is None:
        return
    seen, other = (floor_text(100 * clean_accuracy(model, data), 1) for data in (dataset, test))
    print(
        "note: these inputs are of the train split. If the model was trained on them, they flatter "
        f"it: {seen} % are right without noise here, {other} % on the test split; --split test "
        "chooses there",
        file=sys.stderr,
    )


def note_without_noise(model: Classifier, dataset: Dataset, chosen: Sequence[int]) -> None:
    """Say on how many of the inputs that choose the model is right without noise."""
    if dataset.labels is None:
        return
    labels = Counter(dataset.labels[list(chosen)].tolist())
    (_, most), size = labels.most_common(1)[0], len(chosen)
    right = right_answers(model, dataset, chosen)
    text = f"without noise the model is right on {right} of the {size} inputs that choose"
    if len(labels) == 1 and size > 1:
        text += (
            ", which are all of one class: a model that always gives this class would be certified "
            "at any radius, so choose among inputs of several classes"
        )
    elif right <= most < size:
        text += (
            f", no more than one that always gives the same class ({most}); is the data as the "
            "model wants it (--bounds, --mean and --std, --class-names)?"
        )
    print(f"note: {text}", file=sys.stderr)


def clean_accuracy(model: Classifier, dataset: Dataset) -> float:
    """The share of right answers without noise, on some inputs spread over the data."""
    rows = range(0, len(dataset), max(1, len(dataset) // INPUTS_PER_SPLIT))
    return right_answers(model, dataset, rows) / len(rows)


def right_answers(model: Classifier, dataset: Dataset, rows: Sequence[int]) -> int:
    """How many of these inputs the model answers rightly without noise."""
    import numpy as np

    assert dataset.labels is not None
    right = 0
    for start in range(0, len(rows), 64):
        chosen = list(rows[start : start + 64])
        answers = model.classify(np.stack([dataset.input(row) for row in chosen]))
        right += int(np.count_nonzero(answers == dataset.labels[chosen]))
    return right
