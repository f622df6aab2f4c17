"""Training from data to files: the one function that the command line and Python users call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput, MissingExtra, StoreError, StoreMismatch
from dsrs.files.folders import make_folders, remove_empty
from dsrs.training.settings import TrainingSettings

if TYPE_CHECKING:
    from dsrs.training.loop import Watcher

MOST_THREADS = 1024


def train_model(
    dataset: Dataset,
    settings: TrainingSettings,
    output: str | Path,
    *,
    test: Dataset | None = None,
    resume: bool = False,
    device: str = "auto",
    precision: str = "auto",
    threads: int | None = None,
    watcher: Watcher | None = None,
) -> dict[str, Any]:
    """Train on `dataset` and write model.onnx, model.safetensors and card.json; return the card.

    A checkpoint is kept in `output` after each epoch. `resume` goes on from it, and is refused
    where there is none; without `resume` a folder that holds one is refused. `test` is measured on.
    """
    try:
        import torch
    except ImportError:
        raise MissingExtra("torch", "train") from None
    from dsrs.training.card import write_model
    from dsrs.training.checkpoint import FILE_NAME
    from dsrs.training.devices import choose_device, choose_precision
    from dsrs.training.loop import train

    folder = Path(output)
    if (folder / FILE_NAME).exists() and not resume:
        raise StoreMismatch(
            f"{folder} already holds a training run; resume it (--resume) or choose another folder"
        )
    if resume and not (folder / FILE_NAME).exists():
        raise StoreError(f"{folder} holds no training run to resume; train without --resume")
    if threads is not None:
        if not 1 <= threads <= MOST_THREADS:
            raise InvalidInput(f"`threads` must be from 1 to {MOST_THREADS}, got {threads}")
        torch.set_num_threads(threads)
    where = choose_device(device)
    bits = choose_precision(precision, where)
    try:
        made = make_folders(folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be a folder for models: {error.strerror}") from None
    try:
        trained = train(dataset, settings, folder, device=where, precision=bits, watcher=watcher)
    except BaseException:
        remove_empty(made)  # a start that failed leaves nothing behind
        raise
    return write_model(folder, trained, settings, dataset, test)
