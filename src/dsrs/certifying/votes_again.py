"""Take the votes of some inputs of a run again from its seed, and compare them with those it keeps.

The check of a run proves what follows from its votes; whether a model gave these votes is another
question, and this answers it for inputs that the doubter chooses.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dsrs.certifying.one_input import sample_input
from dsrs.classifiers import Classifier
from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput, StoreMismatch
from dsrs.store import open_run
from dsrs.votes.records import SampledInput


@dataclass(frozen=True, slots=True)
class Retaken:
    """The votes of one input, taken again; `difference` says where they differ, None if nowhere."""

    index: int
    votes: int
    difference: str | None


def retake_votes(
    path: str | Path, classifier: Classifier, dataset: Dataset, count: int
) -> Iterator[Retaken]:
    """Take the votes of inputs of a run again, one input after another.

    Args:
        path: the run folder.
        classifier: the model that the run says it asked.
        dataset: the data that the run says it certified.
        count: how many inputs, chosen by fresh randomness of the operating system; all of them
            where the run has no more.

    Raises:
        StoreMismatch: model or data are not those of the run, by their fingerprints.
    """
    if count < 1:
        raise InvalidInput(f"`votes` must be at least 1, got {count}")
    dataset = dataset.named_for(classifier)
    with open_run(path) as run:
        plan, config = run.sampled_plan, run.config
        for what, given in (("model", classifier.fingerprint), ("data", dataset.fingerprint)):
            if config[what]["fingerprint"] != given:
                raise StoreMismatch(
                    f"this is not the {what} of {path}: its fingerprint is {given}, and that of "
                    f"the run {config[what]['fingerprint']}"
                )
        indices = run.indices()
        chosen = secrets.SystemRandom().sample(indices, min(count, len(indices)))
        for index in sorted(chosen):
            stored = run.result(index).sampled
            again = sample_input(
                classifier, dataset.input(index), plan, index, dataset.label(index)
            )
            yield Retaken(
                index, sum(part.total for part in again.votes), _difference(stored, again)
            )


def _difference(stored: SampledInput, again: SampledInput) -> str | None:
    """The first thing in which two records of the votes of one input differ."""
    # A store of format 2 keeps no fingerprints of inputs.
    if stored.input is not None and stored.input != again.input:
        return f"the input has the fingerprint {again.input}, and {stored.input} was stored"
    for what in ("label", "moved"):
        was, now = getattr(stored, what), getattr(again, what)
        if was != now:
            return f"`{what}` is {now}, and {was} was stored"
    if stored.target != again.target:
        return f"the class was {stored.target}, and is now {again.target}"
    if stored.choices != again.choices:
        return "the votes chose another law"
    for before, after in zip(stored.votes, again.votes, strict=False):
        if before != after:
            return (
                f"{before.stream.purpose} votes from {before.start} on: {list(before.counts)} by "
                f"class were stored, and are now {list(after.counts)}"
            )
    if len(stored.votes) != len(again.votes):
        return f"{len(stored.votes)} parts of votes were stored, and {len(again.votes)} are wanted"
    return None
