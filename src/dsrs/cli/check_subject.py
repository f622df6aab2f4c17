"""What `dsrs check` compares beyond the proofs: fingerprints of model and input, and votes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.certifying.progress import Progress
from dsrs.cli.model_options import classifier_from, dataset_from, with_stored_source
from dsrs.errors import DataError, InvalidInput

if TYPE_CHECKING:
    from dsrs.audit import Verdict
    from dsrs.certifying.votes_again import Retaken

# From the subject of a certificate to what it must say.
Given = Callable[[Mapping[str, Any]], str]


def retaken_votes(arguments: argparse.Namespace) -> list[Retaken]:
    """The votes of --votes inputs of a run, taken again from its seed."""
    from dsrs.certifying.votes_again import retake_votes
    from dsrs.store import open_run

    if is_sets_file(arguments.source):
        return _retaken_scores(arguments)
    if not Path(arguments.source).is_dir():
        raise InvalidInput("--votes needs a run folder, which has the votes, or prediction sets")
    with open_run(arguments.source) as opened:
        config, most = opened.config, len(opened)
    sourced = with_stored_source(arguments, config)
    dataset = dataset_from(sourced)
    classifier = classifier_from(sourced, dataset)
    found = []
    with Progress(min(arguments.votes, most), "voting again", quiet=arguments.quiet) as bar:
        for retaken in retake_votes(arguments.source, classifier, dataset, arguments.votes):
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


def _retaken_scores(arguments: argparse.Namespace) -> list[Retaken]:
    """The calibration scores of --votes inputs, taken again from their seed."""
    from dsrs.conformal import Sets
    from dsrs.conformal.scores_again import retake_scores

    if arguments.model is None or arguments.data is None:
        raise InvalidInput("--votes of prediction sets needs --model and --data of the calibration")
    sets, dataset = Sets.load(arguments.source), dataset_from(arguments)
    classifier = classifier_from(arguments, dataset)
    found = []
    most = min(arguments.votes, sets.calibration.inputs)
    with Progress(most, "scoring again", quiet=arguments.quiet) as bar:
        for retaken in retake_scores(
            *(sets, classifier, dataset, arguments.votes), device=arguments.device
        ):
            found.append(retaken)
            bar.advance(votes=retaken.votes)
    return found


def fingerprint_of_input(values: Any, subject: Mapping[str, Any]) -> str:
    """The fingerprint of this input as this certificate would write it."""
    from dsrs.proofs.subject import SALTED, input_fingerprint

    salted = str(subject.get("input")).startswith(SALTED)
    return input_fingerprint(values, (subject["seed"], subject["index"]) if salted else None)


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
