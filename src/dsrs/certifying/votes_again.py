"""Take the votes of some inputs of a run again from its seed, and compare them with those it keeps.

The check of a run proves what follows from its votes; whether a model gave these votes is another
question, and this answers it for inputs that the doubter chooses.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from numpy.typing import ArrayLike

from dsrs.certifying.one_input import checked_input, sample_input, setting_of
from dsrs.classifiers import Classifier
from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput, StoreMismatch
from dsrs.methods import Plan
from dsrs.noise import Stream
from dsrs.store import open_run
from dsrs.votes import SampledInput, VoteCollector, Votes, WorkUnit


@dataclass(frozen=True, slots=True)
class Retaken:
    """The votes of one input, taken again; `difference` says where they differ, None if nowhere.

    `note` is there if a law was chosen from a pilot, and the rule of this version takes a longer or
    shorter pilot or chooses another law. The votes are then taken again as they were stored.
    """

    index: int
    votes: int
    difference: str | None
    note: str | None = None


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
            note = None
            if stored.choices and _parts(stored) != _parts(again):
                note = "the rule of this version takes another pilot, or chooses another law"
                votes = _as_stored(classifier, dataset.input(index), plan, stored)
                again = replace(again, choices=stored.choices, votes=votes)
            taken = sum(part.total for part in again.votes)
            yield Retaken(index, taken, _difference(stored, again), note)


def _parts(sampled: SampledInput) -> list[tuple[Stream, int, int]]:
    """Which votes were taken, in their order."""
    return [(part.stream, part.start, part.stop) for part in sampled.votes]


def _as_stored(
    classifier: Classifier, x: ArrayLike, plan: Plan, stored: SampledInput
) -> tuple[Votes, ...]:
    """The votes of the streams that were stored, under the laws that were chosen then."""
    target, plan = stored.target, plan.on_grid_of(classifier.bounds)
    assert target is not None
    image, parts = checked_input(classifier, x, plan, stored.index), []
    with VoteCollector() as workers:
        for part in stored.votes:
            unit = WorkUnit(stored.index, part.stream, part.start, part.stop)
            counted = workers.collect(classifier, image, setting_of(plan), unit)
            trials, hits = counted.votes.sum(axis=0).tolist(), counted.votes[target].tolist()
            parts.append(
                replace(part, counts=counted.by_class, trials=tuple(trials), hits=tuple(hits))
            )
    return tuple(parts)


def _difference(stored: SampledInput, again: SampledInput) -> str | None:
    """The first thing in which two records of the votes of one input differ."""
    if stored.input != again.input:
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
