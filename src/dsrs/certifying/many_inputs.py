"""Certify many inputs into a run folder; what is finished there already is not done again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Event
from typing import Any, Protocol

from dsrs.certifying.in_flight import keep_all
from dsrs.certifying.one_input import note_on_distance, sample_input
from dsrs.classifiers.base import Classifier, checked_classifier
from dsrs.classifiers.function_check import refuse_unless_function
from dsrs.datasets.dataset import Dataset
from dsrs.duality.kernel import prepare
from dsrs.methods import Plan, certificates_of, methods_of
from dsrs.store.config import run_config
from dsrs.store.result import RunResult
from dsrs.store.thumbnail import thumbnail
from dsrs.store.writer import start_run
from dsrs.votes.executors import Executor, ThreadExecutor

LOG = logging.getLogger("dsrs.counting")


class Counter(Protocol):
    """Is told how far the work has come."""

    def skip(self, count: int) -> None:
        """So many inputs were finished before."""

    def advance(self, count: int = 1, votes: int = 0) -> None:
        """So many more inputs are finished, after so many votes."""


# Makes the counter of so much work, when it begins.
Watch = Callable[[int], AbstractContextManager[Counter]]


def certify_run(
    classifier: Classifier,
    dataset: Dataset,
    plan: Plan,
    indices: Sequence[int],
    output: str | Path,
    *,
    workers: int | None = None,
    device: str = "cpu",
    executor: Executor | None = None,
    source: Mapping[str, Any] | None = None,
    progress: Watch | None = None,
    settings: str | None = None,
) -> None:
    """Sample and certify the inputs `indices` of `dataset`, and keep them in the folder `output`.

    The folder is new, or a run of the same plan, model, data and device type, which is continued.
    Everything is checked before the folder is touched. A stop at any moment loses only the inputs
    in work; the votes do not depend on stops, on the executor or on the order of `indices`.
    `source` is kept for `dsrs attack`: the options that load the model and the data.

    `executor` counts the votes: `workers` threads unless another one is given. `settings` is for
    people: the text of the folder's run.toml.
    """
    checked_classifier(classifier)
    dataset.check_fits(classifier.input_shape, classifier.num_classes, classifier.bounds)
    plan = plan.on_grid_of(classifier.bounds)
    methods_of(plan)  # refuses a plan that does not fit
    config = run_config(classifier, dataset, plan, device, source)
    counting = executor or ThreadExecutor(workers)
    with start_run(output, config, settings) as writer:
        finished = writer.finished()
        todo = [index for index in indices if index not in finished]
        prepare(len(todo) * len(plan.methods))
        with nullcontext() if progress is None else progress(len(indices)) as counter:
            if counter:
                counter.skip(len(indices) - len(todo))

            def certified(index: int, stop: Event) -> RunResult:
                x, label = dataset.input(index), dataset.label(index)
                collector = counting.collector(stop)
                sampled = sample_input(classifier, x, plan, index, label, collector)
                certificates = certificates_of(sampled, plan)
                return RunResult(sampled, certificates, thumbnail(x, classifier.bounds))

            notes: list[str] = []

            def keep(result: RunResult) -> None:
                note = note_on_distance(result.sampled.moved, plan)
                if note and not notes:
                    notes.append(note)
                    LOG.warning(note)
                # Ctrl-C may fall between writing a result and knowing it.
                if not writer.holds(result.index):
                    writer.add(result)
                    if counter:
                        counter.advance(votes=sum(votes.total for votes in result.votes))

            if not todo:
                return
            refuse_unless_function(classifier, dataset.input(todo[0]), plan.law.sigma, plan.batch)
            LOG.info("counting votes with %s, %s", counting.place, _where(classifier, device))
            with counting:
                at_once = counting.in_flight(_votes_at_once(plan), len(todo))
                if at_once > 1:
                    keep_all(certified, keep, todo, at_once)
                else:
                    for index in todo:
                        keep(certified(index, Event()))
                LOG.info("busy: %.1f of %d cores on average", *counting.busy)
                fewer = counting.fewest_rows(classifier)
                if fewer is not None:
                    LOG.info(
                        "memory ran out: forward passes had down to %d rows instead of %d, and the "
                        "votes are the same",
                        *(fewer, plan.batch),
                    )


def _votes_at_once(plan: Plan) -> int:
    """About how many votes a method asks for: all of them, or with looks a few batches."""
    return plan.n if plan.goal.is_open else plan.batch


def _where(classifier: Classifier, device: str) -> str:
    """For people: where the model runs and its noise is made."""
    beside = classifier.makes_noise
    return f"the model on {device}, its noise {'there' if beside else 'made by the processor'}"
