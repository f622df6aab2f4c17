"""The ways to help a model, one function each; two of them learn: a denoiser, and the weights."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsrs.adapting.judging import (
    DENOISER_FOLDER,
    FINE_TUNED_FOLDER,
    Candidate,
    Learned,
    Made,
    Watch,
    best_of,
)
from dsrs.certifying import Counter
from dsrs.classifiers import (
    CallableClassifier,
    Classifier,
    TorchWeights,
    check_statistics_exist,
    denoised,
    denoiser_from,
    from_onnx,
    load_classifier,
    with_statistics,
)
from dsrs.datasets import Dataset
from dsrs.errors import ClassifierError, InvalidInput, imported
from dsrs.training import (
    CHECKPOINT_NAME,
    DenoiserSettings,
    Machine,
    TrainingSettings,
    held_out,
    recipe_named,
    recommended_settings,
    similar_data,
    train_model,
    trained_on,
)

if TYPE_CHECKING:
    from dsrs.training import Watcher

LEARNING_WAYS = ("denoiser", "fine-tune")
# A model that learned bears about three times the noise that was best before.
LEARNT_NOISE = 3.0
# Sizes of the noise that a denoiser learns from, as multiples of the one that it is for.
LEAST_SIZE, GREATEST_SIZE = 0.5, 1.25
# A quarter of what fresh weights of a network with batch normalisation are trained with.
FINE_TUNE_RATE = 0.05
# Images of a batch. Large images come in smaller batches, of about as many values as a large batch
# of 32x32 images: some hundreds of them then are enough steps, and their gradients fit in memory.
MOST_IN_BATCH, LEAST_IN_BATCH, BATCH_VALUES = 128, 16, 128 * 3072
LOG = logging.getLogger("dsrs.adapting")


@dataclass(frozen=True)
class Learning:
    """How the ways that learn do it.

    Attributes:
        epochs: passes over the data.
        sigma: the noise to learn under; None: three times the best noise of what did not learn.
        recipe: of `dsrs train`, for fine-tune.
        learning_rate: None: that of `DenoiserSettings`, or FINE_TUNE_RATE.
        hold_out: share of the data that is not learned from, as `dsrs train --hold-out`.
        seed: of weights, order and noise.
        machine: device, precision and threads.
    """

    epochs: int = 16
    sigma: float | None = None
    recipe: str = "gaussian"
    learning_rate: float | None = None
    hold_out: float = 0.0
    seed: int = 0
    machine: Machine = field(default_factory=Machine)

    def __post_init__(self) -> None:
        recipe_named(self.recipe)
        for name, least in (("epochs", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise InvalidInput(f"`{name}` must be at least {least}, got {getattr(self, name)}")
        for name in ("sigma", "learning_rate"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise InvalidInput(f"`{name}` to learn with must be positive, got {value!r}")
        held_out(0, self.hold_out)  # refuses what is no share

    @property
    def rate(self) -> dict[str, Any]:
        """The learning rate that was asked for, as an argument."""
        return {} if self.learning_rate is None else {"learning_rate": self.learning_rate}


@dataclass(frozen=True)
class Situation:
    """What a way has to work with.

    Attributes:
        model: the model as it is.
        unlabelled: data, and which inputs of it, to estimate or to learn from.
        before: the candidates so far, the model as it is first.
        folder: where a way may keep files.
        seed: of its noise.
        learning: how those that learn do it; None: there is no data to learn from.
        watch: makes a counter of the images of a training.
    """

    model: Classifier
    unlabelled: tuple[Dataset, Sequence[int]] | None
    before: Sequence[Candidate]
    folder: Path
    seed: int = 0
    learning: Learning | None = None
    watch: Watch | None = None

    @property
    def best(self) -> Candidate:
        """The best candidate so far."""
        return best_of(self.before)

    @property
    def noise_to_learn(self) -> float:
        """The size of the noise to learn under: as asked, or by what was best without learning."""
        if self.learning is not None and self.learning.sigma is not None:
            return self.learning.sigma
        return LEARNT_NOISE * best_of(without_learning(self.before)).tuned.best.law.sigma

    def inputs_for(self, way: str) -> tuple[Dataset, Sequence[int]]:
        """The data to estimate or to learn from, and which inputs of it, or InvalidInput."""
        if self.unlabelled is None:
            raise InvalidInput(
                f"{way} needs inputs that neither choose nor are reported: give data of the same "
                "shape as `unlabelled` (--train-data)"
            )
        found = self.unlabelled[0]
        if found.input_shape != self.model.input_shape:
            raise InvalidInput(
                f"{way} needs inputs of the shape {self.model.input_shape} of the model, "
                f"{found.name} has {found.input_shape}"
            )
        return self.unlabelled

    def allowed(self, way: str) -> tuple[Learning, Dataset, Sequence[int]]:
        """How to learn and from which inputs, or InvalidInput."""
        dataset, rows = self.inputs_for(way)
        if self.learning is None:
            raise InvalidInput(f"{way} learns from other data than that which is certified")
        return self.learning, dataset, rows

    @contextmanager
    def watched(self, images: int, title: str) -> Iterator[Watcher | None]:
        """Show a training on so many images an epoch as a counter of images."""
        if self.watch is None or self.learning is None:
            yield None
            return
        with self.watch(self.learning.epochs * images, title) as counter:
            yield _Counting(counter, images)


def without_learning(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The model as it is, and what ways made of it that do not learn."""
    return [each for each in candidates if each.name not in LEARNING_WAYS]


def behind(model: Classifier, name: str, learned: Learned | None = None) -> Made:
    """The model behind the denoiser of this name."""
    front = denoiser_from(name, model.input_shape, model.bounds)
    return Made(denoised(model, front), name, learned)


def check_denoiser(situation: Situation) -> None:
    """Raise the error that `denoiser` would end with, as far as it can be foreseen."""
    learning, dataset, rows = situation.allowed("denoiser")
    trained_on(len(rows), learning.hold_out)
    imported("torch", "train")
    from dsrs.training import check_images

    check_images(dataset)


def denoiser(situation: Situation) -> Made:
    """A denoiser trained in front of the frozen model, for noise around the size to learn."""
    check_denoiser(situation)
    learning, dataset, rows = situation.allowed("denoiser")
    sigma = situation.noise_to_learn
    from dsrs.training import train_denoiser

    settings = DenoiserSettings(
        smallest=LEAST_SIZE * sigma,
        largest=GREATEST_SIZE * sigma,
        epochs=learning.epochs,
        batch_size=batch_size(dataset.input_shape),
        seed=learning.seed,
        **learning.rate,
    )
    module, reason = _module(situation.model)
    if module is None:
        LOG.warning("the denoiser learns by the mean square error alone: %s", reason)
    kept = trained_on(len(rows), learning.hold_out)
    with situation.watched(len(kept), "training the denoiser") as watcher:
        file = train_denoiser(
            dataset,
            [rows[int(place)] for place in kept],
            settings,
            situation.folder / DENOISER_FOLDER,
            model=module,
            no_gradients=reason,
            machine=learning.machine,
            watcher=watcher,
        )
    return behind(situation.model, str(file), Learned(len(kept), sigma, learning.epochs))


def check_fine_tune(situation: Situation) -> TorchWeights:
    """The weights to go on from, or the error that `fine_tune` would end with."""
    learning, dataset, rows = situation.allowed("fine-tune")
    weights = weights_of(situation.model)
    module, reason = _module(situation.model)
    if weights is None or module is None:
        raise ClassifierError(
            "fine-tune goes on from weights in PyTorch: a module, a folder of `dsrs train`, a "
            f"network with --weights, or an ONNX model; it cannot train the model: {reason}"
        )
    if len(rows) != len(dataset):
        raise InvalidInput("fine-tune learns from a whole data set, got some of its inputs")
    trained_on(len(dataset), learning.hold_out)
    from dsrs.training import check_labelled_images

    check_labelled_images(dataset, situation.model.num_classes)
    _fine_tune_settings(learning, dataset, learning.sigma or 1.0)
    return weights


def fine_tune(situation: Situation) -> Made:
    """The model trained on under Gaussian noise, from its own weights."""
    weights = check_fine_tune(situation)
    learning, dataset, _ = situation.allowed("fine-tune")
    from dsrs.training import given_model

    folder = situation.folder / FINE_TUNED_FOLDER
    sigma, images = situation.noise_to_learn, len(trained_on(len(dataset), learning.hold_out))
    with situation.watched(images, "fine-tuning") as watcher:
        train_model(
            dataset,
            _fine_tune_settings(learning, dataset, sigma),
            folder,
            start=given_model(weights, "the model as it is"),
            resume=(folder / CHECKPOINT_NAME).exists(),
            machine=learning.machine,
            watcher=watcher,
        )
    return Made(load_classifier(folder), None, Learned(images, sigma, learning.epochs))


def _fine_tune_settings(learning: Learning, dataset: Dataset, sigma: float) -> TrainingSettings:
    data = similar_data(dataset.input_shape)
    settings = recommended_settings(data, learning.recipe, sigma, 0.0, hold_out=learning.hold_out)
    chosen: dict[str, Any] = {
        "schedule": "one-cycle",
        "batch_size": batch_size(dataset.input_shape),
        "learning_rate": FINE_TUNE_RATE,
        "seed": learning.seed,
        **learning.rate,
    }
    return replace(settings.in_epochs(learning.epochs), **chosen)


def batch_size(input_shape: tuple[int, ...]) -> int:
    """How many inputs of this shape are learned from at once."""
    return min(MOST_IN_BATCH, max(LEAST_IN_BATCH, BATCH_VALUES // math.prod(input_shape)))


def weights_of(model: Classifier) -> TorchWeights | None:
    """The weights of a model in PyTorch, where it has them there."""
    return getattr(model, "weights", None)


def _module(model: Classifier) -> tuple[Any | None, str | None]:
    """The model in PyTorch, or None and why there are no gradients of it."""
    weights = weights_of(model)
    if weights is None:
        return None, f"{model.description} has no gradients"
    try:
        return weights.module(), None
    except ClassifierError as error:
        return None, str(error)


@dataclass(frozen=True)
class _Counting:
    counter: Counter
    images: int

    def started(self, finished_epochs: int) -> None:
        self.counter.skip(finished_epochs * self.images)

    def batch_done(self, images: int) -> None:
        self.counter.advance(images)

    def epoch_done(self, record: dict[str, Any]) -> None:
        """The card has the records."""


# ---- All ways: what each makes of the model, and behind what

STATISTICS_ROWS, STATISTICS_BATCH = 512, 64
ENOUGH_FOR_STATISTICS = 64  # different inputs; fewer are warned of
# Statistics are for somewhat more noise than was best before, which they make bearable.
MORE_NOISE = 1.25


@dataclass(frozen=True)
class Way:
    """A way to help a model.

    Attributes:
        make: makes it.
        check: raises what `make` would, as far as it can be told before any candidate is judged.
    """

    make: Callable[[Situation], Made]
    check: Callable[[Situation], object]


def check_statistics(situation: Situation) -> bytes:
    """The model as an ONNX file that has statistics, or the error that `statistics` ends with."""
    model = situation.model
    if not isinstance(model, CallableClassifier) or model.graph is None:
        raise ClassifierError(
            "statistics can be estimated in ONNX models and in PyTorch modules that can be "
            f"exported, not in {model.description}"
        )
    situation.inputs_for("statistics")
    graph = model.graph()
    check_statistics_exist(graph)
    return graph


def statistics(situation: Situation) -> Made:
    """Batch-norm statistics under the noise, and behind the denoiser, of the best so far."""
    model, best, graph = situation.model, situation.best, check_statistics(situation)
    sigma = MORE_NOISE * best.tuned.best.law.sigma
    name = best.denoiser
    before = None if name is None else denoiser_from(name, model.input_shape, model.bounds)
    clean, noisy = [], []
    batches, different = _noisy_batches(situation, sigma)
    for images, noise in batches:
        clean.append(images)
        noisy.append(noise if before is None else before.rows(noise))
    made: Classifier = from_onnx(
        with_statistics(graph, noisy, clean),
        input_shape=model.input_shape,
        num_classes=model.num_classes,
        bounds=model.bounds,
        name=f"{model.description.partition(';')[0]} with statistics under sigma = {sigma:.3g}",
    )
    whole = made if before is None else denoised(made, before)
    return Made(whole, name, Learned(different, sigma))


def _in_front(name: str) -> Way:
    """The denoiser of this name in front of the model."""
    return Way(
        make=lambda situation: behind(situation.model, name),
        check=lambda situation: denoiser_from(
            name, situation.model.input_shape, situation.model.bounds
        ),
    )


WAYS: dict[str, Way] = {
    **{name: _in_front(name) for name in ("clip", "dct", "dct-mild")},
    "statistics": Way(statistics, check_statistics),
    "denoiser": Way(denoiser, check_denoiser),
    "fine-tune": Way(fine_tune, check_fine_tune),
}
# Cheap ones first; none of these needs training.
DEFAULT_WAYS = ("clip", "dct", "dct-mild", "statistics")


def _noisy_batches(
    situation: Situation, sigma: float
) -> tuple[list[tuple[NDArray[np.float32], NDArray[np.float32]]], int]:
    """Inputs, repeated if there are few, and the same under noise; how many are different."""
    dataset, rows = situation.inputs_for("statistics")
    rng = np.random.default_rng(situation.seed)
    order = np.resize(rng.permutation(np.asarray(rows)), STATISTICS_ROWS)
    different = len(np.unique(order))
    if different < ENOUGH_FOR_STATISTICS:
        LOG.warning(
            "statistics are estimated from %d different inputs, again and again; give %d or more",
            different,
            ENOUGH_FOR_STATISTICS,
        )
    found = []
    for start in range(0, STATISTICS_ROWS, STATISTICS_BATCH):
        chosen = order[start : start + STATISTICS_BATCH]
        images = np.stack([dataset.input(int(index)) for index in chosen])
        noise = rng.standard_normal(images.shape, dtype=np.float32)
        found.append((images, images + np.float32(sigma) * noise))
    return found, different
