"""The ways that learn: a denoiser in front of a frozen model, and the model's own weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.adapting.judging import Watch
from dsrs.certifying.many_inputs import Counter
from dsrs.classifiers import Classifier, load_classifier
from dsrs.classifiers.callable import TorchWeights
from dsrs.datasets.dataset import Dataset
from dsrs.errors import imported
from dsrs.training import Machine, recommended_settings, train_model
from dsrs.training.defaults import similar_data
from dsrs.training.denoiser_settings import DenoiserSettings
from dsrs.training.folder import CHECKPOINT_NAME
from dsrs.training.held_out import trained_on

if TYPE_CHECKING:
    from dsrs.training.checkpoint import Watcher

# Sizes of the noise that a denoiser learns from, as multiples of the one that it is for.
LEAST_SIZE, GREATEST_SIZE = 0.5, 1.25
# A quarter of what fresh weights of a network with batch normalisation are trained with.
FINE_TUNE_RATE, FINE_TUNE_BATCH = 0.05, 128


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

    @property
    def rate(self) -> dict[str, Any]:
        """The learning rate that was asked for, as an argument."""
        return {} if self.learning_rate is None else {"learning_rate": self.learning_rate}


def trained_denoiser(
    dataset: Dataset,
    rows: Sequence[int],
    module: Any | None,
    sigma: float,
    learning: Learning,
    folder: Path,
    watch: Watch | None,
) -> Path:
    """Train a denoiser for noise around this size; the name of its file."""
    imported("torch", "train")
    from dsrs.training.denoiser import train_denoiser

    settings = DenoiserSettings(
        smallest=LEAST_SIZE * sigma,
        largest=GREATEST_SIZE * sigma,
        epochs=learning.epochs,
        seed=learning.seed,
        **learning.rate,
    )
    kept = trained_on(len(rows), learning.hold_out)
    with _watched(watch, learning.epochs, len(kept), "training the denoiser") as watcher:
        return train_denoiser(
            dataset,
            [rows[int(place)] for place in kept],
            settings,
            folder,
            model=module,
            machine=learning.machine,
            watcher=watcher,
        )


def fine_tuned(
    dataset: Dataset,
    weights: TorchWeights,
    sigma: float,
    learning: Learning,
    folder: Path,
    watch: Watch | None,
) -> Classifier:
    """Go on from these weights under Gaussian noise of this size; the model that comes out."""
    from dsrs.training.models import given_model

    settings = recommended_settings(
        similar_data(dataset.input_shape), learning.recipe, sigma, 0.0, hold_out=learning.hold_out
    ).in_epochs(learning.epochs)
    chosen: dict[str, Any] = {
        "learning_rate": FINE_TUNE_RATE,
        "seed": learning.seed,
        **learning.rate,
    }
    start = given_model(weights.module(), "the model as it is", weights.architecture)
    images = len(trained_on(len(dataset), learning.hold_out))
    with _watched(watch, learning.epochs, images, "fine-tuning") as watcher:
        train_model(
            dataset,
            replace(settings, schedule="one-cycle", batch_size=FINE_TUNE_BATCH, **chosen),
            folder,
            start=start,
            resume=(folder / CHECKPOINT_NAME).exists(),
            machine=learning.machine,
            watcher=watcher,
        )
    return load_classifier(folder)


@contextmanager
def _watched(watch: Watch | None, epochs: int, images: int, title: str) -> Iterator[Watcher | None]:
    """Shows a training as a counter of images."""
    if watch is None:
        yield None
        return
    with watch(epochs * images, title) as counter:
        yield _Counting(counter, images)


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
