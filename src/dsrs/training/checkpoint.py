"""The state of a run between two epochs.

Every epoch draws its randomness from (seed, epoch) alone, and the schedules are functions of the
epoch, so weights, optimiser state and the number of finished epochs are all that a resumed run
needs to end with the same weights as one that was never interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from dsrs.classifiers import safe_load
from dsrs.errors import ClassifierError, StoreCorrupted, StoreMismatch, StoreTooNew
from dsrs.files import whole_file
from dsrs.training.folder import CHECKPOINT_NAME

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
