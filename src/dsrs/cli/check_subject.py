"""What `dsrs check` compares beyond the proofs: fingerprints of model and input, and votes."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.cli.data_options import dataset_from
from dsrs.cli.model_options import classifier_from, with_stored_source
from dsrs.cli.progress import Progress
from dsrs.errors import DataError, InvalidInput

if TYPE_CHECKING:
    from dsrs.audit import Verdict
    from dsrs.certifying.votes_again import Retaken


def retaken_votes(arguments: argparse.Namespace) -> list[Retaken]:
    """The votes of --votes inputs of a run, taken again from its seed."""
    from dsrs.certifying.votes_again import retake_votes
    from dsrs.store import open_run

    if not Path(arguments.source).is_dir():
        raise InvalidInput("--votes needs a run folder, which has the votes")
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


def fingerprints_from(arguments: argparse.Namespace) -> dict[str, str]:
    """The fingerprints of --input and --model, by their names in the subject of a certificate."""
    if arguments.input is None and (arguments.model is None or arguments.votes is not None):
        return {}
    import numpy as np

    from dsrs.datasets import Dataset
    from dsrs.proofs.subject import input_fingerprint

    found: dict[str, str] = {}
    dataset = dataset_from(arguments) if arguments.data is not None else None
    if arguments.input is not None:
        try:
            values = np.load(arguments.input, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise DataError(f"cannot read {arguments.input} as an .npy file: {error}") from None
        found["input"] = input_fingerprint(values)
        if dataset is None:
            if arguments.scale is not None:
                raise InvalidInput("--scale needs --data, whose features it scales")
            one = values[None].astype(np.float32)
            dataset = Dataset.from_arrays(one, bounds=tuple(arguments.bounds))
    if arguments.model is not None:
        if dataset is None:
            raise InvalidInput("--model needs --input or --data, which say the shape of its inputs")
        found["model"] = classifier_from(arguments, dataset).fingerprint
    return found


def compared(verdict: Verdict, fingerprints: dict[str, str]) -> Verdict:
    """The verdict, refuted where the certificate names another model or input, and undecided where
    it names none."""
    subject: Any = verdict.subject or {}
    for name, given in fingerprints.items():
        said = subject.get(name)
        if verdict.word == "refuted" or said == given:
            continue
        if said is None:
            reason = f"it does not say which {name} it is about"
            verdict = replace(verdict, word="undecided", reason=reason)
        else:
            reason = f"it is about another {name}: {said}, and --{name} has {given}"
            verdict = replace(verdict, word="refuted", reason=reason)
    return verdict
