"""Certify many inputs into a run folder; what is finished there already is not done again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from dsrs.classifiers.base import Classifier
from dsrs.datasets.dataset import Dataset
from dsrs.duality.kernel import prepare
from dsrs.runs.config import run_config
from dsrs.runs.in_flight import keep_all
from dsrs.runs.result import RunResult
from dsrs.runs.thumbnail import thumbnail
from dsrs.runs.writer import start_run
from dsrs.sampling import Collector, InlineCollector, VoteCollector
from dsrs.strategies import Plan, certificates_of
from dsrs.voting import sample_input


class Counter(Protocol):
    """Whoever wants to know how far the work has come."""

    def skip(self, count: int) -> None:
        """So many inputs were finished before."""

    def advance(self, count: int = 1) -> None:
        """So many more inputs are finished."""


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
    source: Mapping[str, Any] | None = None,
    progress: Watch | None = None,
    settings: str | None = None,
) -> None:
    """Sample and certify the inputs `indices` of `dataset`, and keep them in the folder `output`.

    The folder is new, or a run of the same plan, model, data and device type, which is continued.
    Everything is checked before the folder is touched. A stop at any moment loses only the inputs
    in work; the votes do not depend on stops, `workers` or the order of `indices`. `source` is kept
    for `dsrs attack`: the options that load the model and the data.

    `settings` is for people: the text of the folder's run.toml.

    A plan that takes the same votes for every input has one input in work, shared out among the
    workers; a plan that stops early has one input in work for each worker.
    """
    dataset.check_fits(classifier.input_shape, classifier.num_classes, classifier.bounds)
    config = run_config(classifier, dataset, plan, device, source)
    with VoteCollector(workers) as collector, start_run(output, config, settings) as writer:
        finished = writer.finished()
        todo = [index for index in indices if index not in finished]
        prepare(len(todo) * len(plan.methods))
        with nullcontext() if progress is None else progress(len(indices)) as counter:
            if counter:
                counter.skip(len(indices) - len(todo))

            def certified(index: int, collector: Collector) -> RunResult:
                x, label = dataset.input(index), dataset.label(index)
                sampled = sample_input(classifier, x, plan, index, label, collector)
                certificates = certificates_of(sampled, plan)
                return RunResult(sampled, certificates, thumbnail(x, classifier.bounds))

            def keep(result: RunResult) -> None:
                # Ctrl-C may fall between writing a result and knowing it.
                if not writer.holds(result.index):
                    writer.add(result)
                    if counter:
                        counter.advance()

            if plan.goal.is_open:
                for index in todo:
                    keep(certified(index, collector))
            else:
                keep_all(
                    lambda index, stop: certified(index, InlineCollector(stop)),
                    keep,
                    todo,
                    collector.workers,
                )
