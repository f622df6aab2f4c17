"""Certify many inputs into a run folder; what is finished there already is not done again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Protocol

from dsrs.certifying.in_flight import keep_all
from dsrs.certifying.one_input import note_on_distance, sample_input, with_undefended
from dsrs.certifying.progress import unseen
from dsrs.classifiers import Classifier, checked_classifier, refuse_unless_function
from dsrs.datasets import Dataset
from dsrs.duality import prepare
from dsrs.measures import hopeless_votes
from dsrs.methods import Plan, certificates_of, methods_of
from dsrs.store import RunResult, RunWriter, run_config, start_run, thumbnail
from dsrs.votes import Executor, ThreadExecutor

LOG = logging.getLogger("dsrs.counting")


class Counter(Protocol):
    """Is told how far the work has come."""

    def skip(self, count: int) -> None:
        """So many inputs were finished before."""

    def advance(self, count: int = 1, votes: int = 0) -> None:
        """So many more inputs are finished, after so many votes."""


# Makes the counter of so much work, when it begins.
Watch = Callable[[int], AbstractContextManager[Counter]]


@dataclass(frozen=True, slots=True)
class Origin:
    """What a run folder keeps of where its votes come from.

    device: where the model runs.
    source: the options that load the model and the data, for `dsrs attack`.
    settings: the text of the folder's run.toml, for people.
    """

    device: str = "cpu"
    source: Mapping[str, Any] | None = None
    settings: str | None = None


def certify_run(
    classifier: Classifier,
    dataset: Dataset,
    plan: Plan,
    indices: Sequence[int],
    output: str | Path,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    origin: Origin | None = None,
    progress: Watch | None = None,
) -> None:
    """Sample and certify the inputs `indices` of `dataset`, and keep them in the folder `output`.

    The folder is new, or a run of the same plan, model, data and device type, which is continued.
    Everything is checked before the folder is touched. A stop at any moment loses only the inputs
    in work; the votes do not depend on stops, on the executor or on the order of `indices`.

    Args:
        classifier: What is certified.
        dataset: The inputs and their labels.
        plan: Noise, methods, votes and alpha.
        indices: Which inputs.
        output: The run folder.
        workers: Threads that count the votes; all cores when None.
        executor: Counts the votes instead of `workers` threads.
        origin: What the folder keeps besides; that of a model on the CPU unless given.
        progress: Makes a counter that is told how far the work has come.
    """
    checked_classifier(classifier)
    dataset.check_fits(classifier.input_shape, classifier.num_classes, classifier.bounds)
    dataset = dataset.named_for(classifier)
    plan = plan.on_grid_of(classifier.bounds)
    methods_of(plan)  # refuses a plan that does not fit
    hopeless = hopeless_votes(plan.n, plan.alpha)
    if hopeless:
        LOG.warning(hopeless)
    origin = origin or Origin()
    config = run_config(classifier, dataset, plan, origin.device, origin.source)
    threads = ThreadExecutor(workers, at_least=len(classifier.replicas))
    work = _Work(classifier, dataset, plan, executor or threads)
    with start_run(output, config, origin.settings) as writer:
        writer.ask(indices)
        finished = writer.finished()
        todo = [index for index in indices if index not in finished]
        prepare(len(todo) * len(plan.methods))
        with (progress or unseen)(len(indices)) as counter:
            counter.skip(len(indices) - len(todo))
            if todo:
                first = dataset.input(todo[0])
                refuse_unless_function(classifier, first, plan.law.sigma, plan.batch)
                LOG.info(
                    "counting votes with %s, the model on %s, its noise %s",
                    work.executor.place,
                    origin.device,
                    "there" if classifier.makes_noise else "made by the processor",
                )
                work.finish(todo, _Keeper(writer, counter, plan))


@dataclass(frozen=True, slots=True)
class _Work:
    """How an input of a run is sampled and certified."""

    classifier: Classifier
    dataset: Dataset
    plan: Plan
    executor: Executor

    def certified(self, index: int, stop: Event) -> RunResult:
        x, label = self.dataset.input(index), self.dataset.label(index)
        collector = self.executor.collector(stop)
        sampled = sample_input(self.classifier, x, self.plan, index, label, collector)
        if label is not None:
            sampled = with_undefended(sampled, self.classifier, x)
        certificates = certificates_of(sampled, self.plan)
        return RunResult(sampled, certificates, thumbnail(x, self.classifier.bounds))

    def finish(self, todo: Sequence[int], keep: Callable[[RunResult], None]) -> None:
        """Call `keep` with the result of every input of `todo`, then log what it took."""
        with self.executor as counting:
            # About how many votes a method asks for: all of them, or with looks a few batches.
            votes = self.plan.n if self.plan.goal.is_open else self.plan.batch
            at_once = counting.in_flight(votes, len(todo))
            if at_once > 1:
                keep_all(self.certified, keep, todo, at_once)
            else:
                for index in todo:
                    keep(self.certified(index, Event()))
            LOG.info("busy: %.1f of %d cores on average", *counting.busy)
            fewer = counting.fewest_rows(self.classifier)
            if fewer is not None:
                LOG.info(
                    "memory ran out: forward passes had down to %d rows instead of %d, and the "
                    "votes are the same",
                    *(fewer, self.plan.batch),
                )


@dataclass(slots=True)
class _Keeper:
    """Writes results into the run folder, counts them, and warns once of far inputs."""

    writer: RunWriter
    counter: Counter
    plan: Plan
    warned: bool = False

    def __call__(self, result: RunResult) -> None:
        note = note_on_distance(result.sampled.moved, self.plan)
        if note and not self.warned:
            self.warned = True
            LOG.warning(note)
        # Ctrl-C may fall between writing a result and knowing it.
        if not self.writer.holds(result.index):
            self.writer.add(result)
            self.counter.advance(votes=sum(votes.total for votes in result.votes))
