"""What `dsrs check` compares beyond the proofs: fingerprints of model and input, and votes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.certifying import Progress
from dsrs.cli.model_options import classifier_from, dataset_from, model_and_data, with_stored_source
from dsrs.errors import DataError, InvalidInput

if TYPE_CHECKING:
    from dsrs.audit import Verdict
    from dsrs.certifying import Retaken

# From the subject of a certificate to what it must say.
Given = Callable[[Mapping[str, Any]], str]


def retaken_votes(arguments: argparse.Namespace) -> list[Retaken]:
    """The votes of --votes inputs of a run, taken again from its seed; of sets, their scores."""
    from dsrs.certifying import retake_votes
    from dsrs.conformal import Sets, retake_scores
    from dsrs.store import open_run

    source, count = arguments.source, arguments.votes
    if is_sets_file(source):
        if arguments.model is None or arguments.data is None:
            raise InvalidInput(
                "--votes of prediction sets needs --model and --data of the calibration"
            )
        sets, what = Sets.load(source), "scoring again"
        classifier, dataset = model_and_data(arguments)
        most = sets.calibration.inputs
        again = retake_scores(sets, classifier, dataset, count, device=arguments.device)
    elif Path(source).is_dir():
        with open_run(source) as opened:
            config, most, what = opened.config, len(opened), "voting again"
        completed = with_stored_source(arguments, config)
        classifier, dataset = model_and_data(completed)
        again = retake_votes(source, classifier, dataset, count)
    else:
        raise InvalidInput("--votes needs a run folder, which has the votes, or prediction sets")
    found = []
    with Progress(min(count, most), what, quiet=arguments.quiet) as bar:
        for retaken in again:
            found.append(retaken)
            bar.advance(votes=retaken.votes)
    return found


def is_sets_file(source: str) -> bool:
    """Whether a source is a file of `dsrs conformal calibrate`, by how it begins."""
    path = Path(source)
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(64).startswith(b'{"kind": "prediction sets"')


def fingerprint_of_input(values: Any, subject: Mapping[str, Any]) -> str:
    """The fingerprint of this input as this certificate would write it."""
    from dsrs.proofs import SALTED, input_fingerprint

    salted = str(subject.get("input")).startswith(SALTED)
    seed, index = subject.get("seed"), subject.get("index")
    # Without the salt it is no fingerprint of any input.
    salt = (seed, index) if salted and seed is not None and index is not None else None
    return input_fingerprint(values, salt)


def fingerprints_from(arguments: argparse.Namespace) -> dict[str, Given]:
    """The fingerprints of --input and --model, by their names in the subject of a certificate."""
    if arguments.input is None and (arguments.model is None or arguments.votes is not None):
        return {}
    import numpy as np

    from dsrs.datasets import Dataset

    fingerprints: dict[str, Given] = {}
    dataset = dataset_from(arguments) if arguments.data is not None else None
    if arguments.input is not None:
        try:
            values = np.load(arguments.input, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise DataError(f"cannot read {arguments.input} as an .npy file: {error}") from None
        fingerprints["input"] = partial(fingerprint_of_input, values)
        if dataset is None:
            if arguments.scale is not None:
                raise InvalidInput("--scale needs --data, whose features it scales")
            input_rows = values[None].astype(np.float32)
            dataset = Dataset.from_arrays(input_rows, bounds=tuple(arguments.bounds))
    if arguments.model is not None:
        if dataset is None:
            raise InvalidInput("--model needs --input or --data, which say the shape of its inputs")
        named = classifier_from(arguments, dataset).fingerprint
        fingerprints["model"] = lambda subject: named
    return fingerprints


def compared(verdict: Verdict, fingerprints: Mapping[str, Given]) -> Verdict:
    """The verdict, refuted where the certificate names another model or input, and undecided where
    it names none."""
    subject: Any = verdict.subject or {}
    for name, fingerprint in fingerprints.items():
        said = subject.get(name)
        given = fingerprint(subject)
        if verdict.word == "refuted" or said == given:
            continue
        if said is None:
            reason = f"it does not say which {name} it is about"
            verdict = replace(verdict, word="undecided", reason=reason)
        else:
            reason = f"it is about another {name}: {said}, and --{name} has {given}"
            verdict = replace(verdict, word="refuted", reason=reason)
    return verdict
