"""The state of a run between two epochs.

Every epoch draws its randomness from (seed, epoch) alone, and the schedules are functions of the
epoch, so weights, optimiser state and the number of finished epochs are all that a resumed run
needs to end with the same weights as one that was never interrupted.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dsrs.errors import StoreCorrupted, StoreMismatch, StoreTooNew
from dsrs.files.whole import whole_file
from dsrs.training.settings import TrainingSettings

FORMAT = 1
FILE_NAME = "checkpoint.pt"


@dataclass(frozen=True)
class Checkpoint:
    """A run after `epoch` finished epochs. `history` holds one record an epoch."""

    settings: TrainingSettings
    data: str
    epoch: int
    model: dict[str, Any]
    optimizer: dict[str, Any]
    history: list[dict[str, Any]]


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint of `folder`; a crash leaves the old one or the new one."""
    with whole_file(folder / FILE_NAME) as stream:
        torch.save(
            {
                "format": FORMAT,
                "settings": checkpoint.settings.to_dict(),
                "data": checkpoint.data,
                "epoch": checkpoint.epoch,
                "model": checkpoint.model,
                "optimizer": checkpoint.optimizer,
                "history": checkpoint.history,
            },
            stream,
        )


def load_checkpoint(folder: Path, settings: TrainingSettings, data: str) -> Checkpoint | None:
    """The checkpoint of `folder`, if there is one; it must belong to these settings and data."""
    path = folder / FILE_NAME
    if not path.exists():
        return None
    try:
        # weights_only: a checkpoint is data, and reading it runs no code from it.
        state = torch.load(path, map_location="cpu", weights_only=True)
        version = state["format"]
        if version > FORMAT:
            raise StoreTooNew(
                f"{path} was written by a newer version (format {version}; this reads {FORMAT})"
            )
        saved = Checkpoint(
            TrainingSettings.from_dict(state["settings"]),
            *(state[name] for name in ("data", "epoch", "model", "optimizer", "history")),
        )
    except (pickle.UnpicklingError, RuntimeError, EOFError, KeyError, TypeError) as error:
        raise StoreCorrupted(
            f"{path} cannot be read as a checkpoint ({error}); delete it to start again"
        ) from error
    _check_same(path, saved, settings, data)
    return saved


def seed_epoch(seed: int, epoch: int) -> np.random.Generator:
    """Seed torch on every device for this epoch; return numpy's generator for it.

    Epoch 0 is the making of the model.
    """
    sequence = np.random.SeedSequence([seed, epoch])
    for_torch, for_numpy = sequence.spawn(2)
    torch.manual_seed(int(for_torch.generate_state(1, np.uint64)[0] >> np.uint64(1)))
    return np.random.default_rng(for_numpy)


def _check_same(path: Path, saved: Checkpoint, settings: TrainingSettings, data: str) -> None:
    before, now = saved.settings.to_dict(), settings.to_dict()
    changed = [
        f"{name}: {before[name]} -> {now[name]}" for name in now if before[name] != now[name]
    ]
    if saved.data != data:
        changed.append(f"data: {saved.data} -> {data}")
    if changed:
        raise StoreMismatch(
            f"{path} belongs to another run ({'; '.join(changed)}); "
            "resume with the same settings and data, or choose another output folder"
        )
