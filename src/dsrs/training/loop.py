"""The training loop: epochs over a dataset, with a checkpoint after each.

Every epoch draws its randomness from (seed, epoch) alone, and the schedules are functions of the
epoch, so weights, optimiser state and the number of finished epochs are all that a resumed run
needs to end with the same weights as one that was never interrupted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dsrs.classifiers import fingerprint_of_module, safe_load
from dsrs.datasets import Dataset
from dsrs.errors import ClassifierError, StoreCorrupted, StoreMismatch, StoreTooNew
from dsrs.files import whole_file
from dsrs.laws import GeneralizedGaussian
from dsrs.training.batches import (
    channel_statistics,
    check_unit_bounds,
    class_count,
    crop_and_flip,
    images_of,
    sample_noise,
    tensors,
)
from dsrs.training.models import SavedModel, fresh_model
from dsrs.training.recipes import Batch
from dsrs.training.settings import (
    CHECKPOINT_NAME,
    TrainingSettings,
    one_cycle,
    ramp,
    step_decay,
    trained_on,
    warm_up_k,
)

CHECKPOINT_FORMAT = 2


class Watcher(Protocol):
    """Is told how a run goes on."""

    def started(self, finished_epochs: int) -> None: ...
    def batch_done(self, images: int) -> None: ...
    def epoch_done(self, record: dict[str, Any]) -> None: ...


class SavedSettings(Protocol):
    """Settings of a run that can be written and read."""

    @property
    def epochs(self) -> int: ...
    def to_dict(self) -> dict[str, Any]: ...
    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> SavedSettings: ...


@dataclass(frozen=True)
class Checkpoint:
    """A run after `epoch` finished epochs.

    Attributes:
        settings: The settings of the run.
        sources: Fingerprints of the data, and of the models that the run started and learned from.
        epoch: Number of finished epochs.
        model: State of the model.
        optimizer: State of the optimiser.
        history: One record for each epoch.
    """

    settings: SavedSettings
    sources: dict[str, str]
    epoch: int
    model: dict[str, Any]
    optimizer: dict[str, Any]
    history: list[dict[str, Any]]


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint of `folder`; a crash leaves the old one or the new one."""
    with whole_file(folder / CHECKPOINT_NAME) as stream:
        settings = {"format": CHECKPOINT_FORMAT, "settings": checkpoint.settings.to_dict()}
        torch.save(vars(checkpoint) | settings, stream)


def load_checkpoint(
    folder: Path, settings: SavedSettings, sources: dict[str, str]
) -> Checkpoint | None:
    """The checkpoint of `folder`, if there is one; it must belong to this run."""
    path = folder / CHECKPOINT_NAME
    if not path.exists():
        return None
    try:
        state = safe_load(path)
        version = state["format"]
        if version > CHECKPOINT_FORMAT:
            raise StoreTooNew(
                f"{path} was written by a newer version (format {version}; this reads "
                f"{CHECKPOINT_FORMAT})"
            )
        if version < CHECKPOINT_FORMAT:
            raise StoreMismatch(
                f"{path} was written by an older version (format {version}; this continues "
                f"{CHECKPOINT_FORMAT}); train in another folder, with --from {folder} to use its "
                "weights"
            )
        saved = Checkpoint(
            type(settings).from_dict(state["settings"]),
            *(state[name] for name in ("sources", "epoch", "model", "optimizer", "history")),
        )
    except (ClassifierError, KeyError, TypeError) as error:
        raise StoreCorrupted(
            f"{path} cannot be read as a checkpoint ({error}); delete it to start again"
        ) from error
    _check_same(path, saved, settings, sources)
    return saved


def all_epochs(
    folder: Path,
    settings: SavedSettings,
    sources: dict[str, str],
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    epoch: Callable[[int], dict[str, Any]],
    watcher: Watcher | None,
) -> list[dict[str, Any]]:
    """Go on from the checkpoint in `folder`, if there is one, to the last epoch; their records.

    Args:
        folder: where a checkpoint is kept after each epoch.
        settings: those of the run.
        sources: see `Checkpoint`.
        model: is trained.
        optimizer: of its weights.
        epoch: goes over the data once, in the epoch of this number, and returns its record.
        watcher: is told how the run goes on.
    """
    history: list[dict[str, Any]] = []
    saved = load_checkpoint(folder, settings, sources)
    if saved is not None:
        model.load_state_dict(saved.model)
        optimizer.load_state_dict(saved.optimizer)
        history = saved.history
    if watcher is not None:
        watcher.started(len(history))
    for number in range(len(history) + 1, settings.epochs + 1):
        history.append(epoch(number))
        weights, state = model.state_dict(), optimizer.state_dict()
        save_checkpoint(folder, Checkpoint(settings, sources, number, weights, state, history))
        if watcher is not None:
            watcher.epoch_done(history[-1])
    return history


def seed_epoch(seed: int, epoch: int) -> np.random.Generator:
    """Seed torch on every device for this epoch; return numpy's generator for it.

    Epoch 0 is the making of the model.
    """
    sequence = np.random.SeedSequence([seed, epoch])
    for_torch, for_numpy = sequence.spawn(2)
    torch.manual_seed(int(for_torch.generate_state(1, np.uint64)[0] >> np.uint64(1)))
    return np.random.default_rng(for_numpy)


def _check_same(
    path: Path, saved: Checkpoint, settings: SavedSettings, sources: dict[str, str]
) -> None:
    before = saved.settings.to_dict() | saved.sources
    now = settings.to_dict() | sources
    changed = [
        f"{name}: {before.get(name)} -> {now.get(name)}"
        for name in before | now
        if before.get(name) != now.get(name)
    ]
    if changed:
        raise StoreMismatch(
            f"{path} belongs to another run ({'; '.join(changed)}); "
            "resume with the same settings and data, or choose another output folder"
        )


# ---- Training a classifier

# Images that tell the moments of features without noise, where normalisation is put back.
CLEAN_ROWS = 256


@dataclass(frozen=True)
class Trained:
    """A trained model on the CPU.

    Attributes:
        model: The model, in evaluation mode.
        law: The law that it is to be smoothed with.
        history: One record for each epoch.
        origins: Name and fingerprint of the model that the run started from (`start`), where
            there was one.
    """

    model: nn.Module
    law: GeneralizedGaussian
    history: list[dict[str, Any]]
    origins: dict[str, dict[str, str]]


def train(
    dataset: Dataset,
    settings: TrainingSettings,
    folder: Path,
    *,
    start: SavedModel | None = None,
    device: str = "cpu",
    precision: str = "float32",
    watcher: Watcher | None = None,
) -> Trained:
    """Train to the last epoch, going on from the checkpoint in `folder` if there is one.

    With the same settings, data, device and number of threads an interrupted and continued run
    ends with the same weights as an uninterrupted one, bit for bit on a CPU.
    """
    check_unit_bounds(dataset)
    d = math.prod(dataset.input_shape)
    law = GeneralizedGaussian(d, settings.sigma, settings.k, settings.eta)
    model = _first_model(dataset, settings, start)
    origins = {}
    if start is not None:
        origins["start"] = {"name": start.name, "fingerprint": fingerprint_of_module(model)}
    layout = _layout(dataset.input_shape)
    model.to(device).to(memory_format=layout)  # type: ignore[call-overload]
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=settings.learning_rate,
        momentum=settings.momentum,
        weight_decay=settings.weight_decay,
    )
    sources = {"data": dataset.fingerprint} | {
        role: origin["fingerprint"] for role, origin in origins.items()
    }
    session = _Session(dataset, settings, law, model, optimizer, device, precision, watcher)
    history = all_epochs(folder, settings, sources, model, optimizer, session.epoch, watcher)
    # In the usual order again: exporters write detours for another one.
    model.eval().to("cpu").to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    return Trained(model, law, history, origins)


def _first_model(
    dataset: Dataset, settings: TrainingSettings, start: SavedModel | None
) -> nn.Module:
    seed_epoch(settings.seed, 0)
    rows, classes = trained_on(len(dataset), settings.hold_out), class_count(dataset)
    if start is not None:
        clean = images_of(dataset, rows[:: max(1, len(rows) // CLEAN_ROWS)][:CLEAN_ROWS])
        return start.model(settings.architecture, dataset.input_shape, classes, clean.numpy())
    mean, deviation = channel_statistics(dataset, rows)
    # The law has E |noise|^2 = sigma^2 d for every k, so this is the deviation of noisy images.
    noisy = [math.hypot(value, settings.sigma) for value in deviation]
    return fresh_model(settings.architecture, dataset.input_shape, classes, mean, noisy)


@dataclass(frozen=True)
class _Session:
    dataset: Dataset
    settings: TrainingSettings
    law: GeneralizedGaussian
    model: nn.Module
    optimizer: torch.optim.Optimizer
    device: str
    precision: str
    watcher: Watcher | None

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The inputs that are trained on."""
        return trained_on(len(self.dataset), self.settings.hold_out)

    def epoch(self, epoch: int) -> dict[str, Any]:
        """Go over the data once; return the epoch's record."""
        settings, started = self.settings, time.monotonic()
        generator = seed_epoch(settings.seed, epoch)
        self.model.train()
        steps = math.ceil(len(self.rows) / settings.images_a_step)
        # Sums stay on the device: reading one each step would wait for it.
        loss_sum = torch.zeros((), device=self.device)
        right_sum = torch.zeros((), device=self.device)
        law, rate = self.law, settings.learning_rate
        for step, (images, labels) in enumerate(self._batches(generator), start=1):
            law = self._training_law(epoch, (epoch - 1) * steps + step)
            rate = self._set_rate(epoch, (epoch - 1 + step / steps) / settings.epochs)
            loss, right = self._step(images, labels, law, generator, epoch)
            loss_sum += loss * len(images)
            right_sum += right * len(images)
            if self.watcher is not None:
                self.watcher.batch_done(len(images))
        mean_loss = float(loss_sum) / len(self.rows)
        if not math.isfinite(mean_loss):
            raise ClassifierError(
                f"training diverged in epoch {epoch} (loss {mean_loss}); "
                "start again with a lower learning rate"
            )
        return {
            "epoch": epoch,
            "k": law.k,
            "learning_rate": rate,
            "loss": mean_loss,
            "noisy_accuracy": float(right_sum) / len(self.rows),
            "seconds": round(time.monotonic() - started, 1),
        }

    def _step(
        self,
        images: Tensor,
        labels: Tensor,
        law: GeneralizedGaussian,
        generator: np.random.Generator,
        epoch: int,
    ) -> tuple[Tensor, Tensor]:
        """One step of the optimiser; returns the loss and the share of right noisy answers."""
        reduced = self.precision == "bfloat16"
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=reduced):
            batch = Batch(
                images,
                labels,
                lambda rows: sample_noise(law, rows, generator),
                ramp(epoch, self.settings.ramp_epochs),
            )
            loss, logits = self.settings.recipe.objective(self.model, batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return loss.detach(), (logits.detach().argmax(dim=-1) == labels).float().mean()

    def _batches(self, generator: np.random.Generator) -> Iterator[tuple[Tensor, Tensor]]:
        order = generator.permutation(self.rows)
        layout = _layout(self.dataset.input_shape)
        for start in range(0, len(order), self.settings.images_a_step):
            chosen = order[start : start + self.settings.images_a_step]
            images, labels = tensors(self.dataset, chosen)
            if self.settings.augmentation == "crop-flip":
                images = crop_and_flip(images, generator)
            yield images.to(self.device, memory_format=layout), labels.to(self.device)

    def _set_rate(self, epoch: int, share: float) -> float:
        """Set the learning rate of a step, which comes after this share of the run."""
        settings = self.settings
        peak = settings.learning_rate
        if settings.schedule == "one-cycle":
            rate = one_cycle(peak, share)
        else:
            rate = step_decay(peak, epoch, settings.decay_at, settings.decay_factor)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _training_law(self, epoch: int, step: int) -> GeneralizedGaussian:
        e = epoch if self.settings.warm_up_unit == "epoch" else step
        k = warm_up_k(self.law.k, e, self.settings.warm_up)
        return replace(self.law, k=k)


def _layout(input_shape: tuple[int, ...]) -> torch.memory_format:
    # Channels last: the same numbers in an order that convolutions read faster.
    return torch.channels_last if len(input_shape) == 3 else torch.contiguous_format
