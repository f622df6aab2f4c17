"""Certify inputs: the votes of one, and many of them into a run folder."""

from __future__ import annotations

import logging
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.certifying.progress import keep_all, unseen
from dsrs.classifiers import Classifier, answer_of, checked_classifier, refuse_unless_function
from dsrs.datasets import Dataset
from dsrs.duality import prepare
from dsrs.errors import DataError, InvalidInput
from dsrs.measures import hopeless_votes
from dsrs.methods import Plan, Session, certificates_of, methods_of
from dsrs.proofs import input_fingerprint
from dsrs.store import RunResult, RunWriter, run_config, start_run, thumbnail
from dsrs.votes import Collector, Executor, SampledInput, Setting, ThreadExecutor, VoteCollector

# ---- The votes of one input: whatever the methods of its plan want, from a classifier


def setting_of(plan: Plan) -> Setting:
    """What the sampler needs to know of a plan."""
    return Setting(plan.seed, plan.batch, plan.known_grid)


def sample_input(
    classifier: Classifier,
    x: ArrayLike,
    plan: Plan,
    index: int,
    label: int | None = None,
    collector: Collector | None = None,
) -> SampledInput:
    """Sample one input as `plan` says.

    `index` numbers the input: it keys the noise, so the same index always sees the same noise.
    `collector` keeps its worker threads from one input to the next; without one, all cores are
    used for this call.
    """
    started = perf_counter()
    plan = plan.on_grid_of(classifier.bounds)
    image = checked_input(classifier, x, plan, index)
    known = None if label is None else checked_label(classifier, label, index)
    grid = plan.known_grid
    moved = 0.0 if grid is None else grid.distance(np.asarray(x))
    session, setting, queries = Session(plan, index, known, moved), setting_of(plan), 0
    with VoteCollector() if collector is None else nullcontext(collector) as workers:
        while (unit := session.next()) is not None:
            session.add(unit, workers.collect(classifier, image, setting, unit))
            queries += unit.rows(setting.batch)
    sampled = session.finish(perf_counter() - started, queries)
    salt = (plan.seed, index) if image.ndim == 1 else None
    return replace(sampled, model=classifier.fingerprint, input=input_fingerprint(image, salt))


def with_undefended(
    sampled: SampledInput, classifier: Classifier, x: NDArray[np.float32]
) -> SampledInput:
    """The record with the model's answer to the input `x` without noise, for one query more.

    It is what people have who do not smooth the model: reports show it beside certified accuracy.
    """
    answer = answer_of(classifier.classify, np.asarray(x)[None], classifier.description)
    return replace(sampled, undefended=int(answer[0]), queries=(sampled.queries or 0) + 1)


def note_on_distance(moved: float, plan: Plan) -> str | None:
    """A warning if the grid moved an input by more than sigma / 10, else None."""
    if moved <= plan.law.sigma / 10:
        return None
    return (
        f"an input lies {moved:.3g} (l2) from the nearest point of the grid, more than a tenth of "
        f"sigma = {plan.law.sigma:g}: it is classified there, and its radius is less by as much; "
        "use a smaller step for a larger radius"
    )


def checked_index(index: object) -> int:
    """`index` as an int, 0 for None; InvalidInput unless it is a number that may key the noise."""
    if index is None:
        return 0
    number = whole(index)
    if number is None or not 0 <= number < 2**56:
        raise InvalidInput(f"`index` must be a whole number from 0 to 2^56 - 1, got {index!r}")
    return number


def checked_label(classifier: Classifier, label: object, index: int) -> int:
    """`label` as an int, or an error unless it is a whole number that names a class."""
    number = whole(label)
    if number is None or not 0 <= number < classifier.num_classes:
        raise DataError(
            f"the label of input {index} must be a class from 0 to {classifier.num_classes - 1}, "
            f"a whole number, got {label!r}"
        )
    return number


def whole(value: object) -> int | None:
    """An integer of Python, NumPy or PyTorch as an int; None for truth values and all others."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def checked_input(
    classifier: Classifier, x: ArrayLike, plan: Plan, index: int | None
) -> NDArray[np.float32]:
    """`x` as float32, or an error that says what does not fit the classifier and the law."""
    image, name = np.asarray(x), "the input" if index is None else f"input {index}"
    shape = tuple(classifier.input_shape)
    if image.shape != shape:
        batch = image.shape[1:] == shape
        raise DataError(
            f"{name} must have the classifier's shape {shape}, got {image.shape}"
            + ("; inputs are taken one at a time, not in batches" if batch else "")
        )
    if image.size != plan.law.d:
        raise InvalidInput(
            f"the noise law has d = {plan.law.d}, but the classifier's inputs have "
            f"{math.prod(image.shape)} numbers; use d = {math.prod(image.shape)}"
        )
    if not np.issubdtype(image.dtype, np.floating):
        raise DataError(
            f"{name} must be floating point in the classifier's units "
            f"{classifier.bounds}, got {image.dtype}"
        )
    if not np.isfinite(image).all():
        raise DataError(f"{name} must be finite numbers, but it holds NaN or infinity")
    found = np.ascontiguousarray(image, dtype=np.float32)
    lower, upper = (np.float32(bound) for bound in classifier.bounds)
    if found.min() < lower or found.max() > upper:
        raise DataError(
            f"{name} must lie in the classifier's bounds [{lower:g}, {upper:g}], got values "
            f"from {found.min():g} to {found.max():g}; radii are in these units"
        )
    return found


# ---- Many inputs into a run folder; what is finished there already is not done again

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
