"""Training from data to files: the one function that the command line and Python users call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.datasets import Dataset
from dsrs.errors import StoreError, StoreMismatch, imported
from dsrs.files import make_folders, remove_empty
from dsrs.training.devices import Machine, prepared
from dsrs.training.folder import CHECKPOINT_NAME
from dsrs.training.settings import TrainingSettings

if TYPE_CHECKING:
    from dsrs.training.checkpoint import Watcher
    from dsrs.training.models import SavedModel


def train_model(
    dataset: Dataset,
    settings: TrainingSettings,
    output: str | Path,
    *,
    test: Dataset | None = None,
    start: SavedModel | None = None,
    resume: bool = False,
    machine: Machine | None = None,
    watcher: Watcher | None = None,
) -> dict[str, Any]:
    """Train on `dataset` and write model.onnx, model.safetensors and card.json; return the card.

    A checkpoint is kept in `output` after each epoch.

    Args:
        dataset: Labelled images in [0, 1].
        settings: Recipe, law and optimisation.
        output: The folder of the model.
        test: Labelled images on which accuracy is measured at the end.
        start: Weights to go on from, instead of fresh ones; see `saved_model`. If they name
            their architecture, it replaces that of the settings.
        resume: Go on from the checkpoint in `output`, which must be there. Without it a folder
            that holds a checkpoint is refused.
        machine: Device, precision and threads.
        watcher: Is told how the run goes on.
    """
    imported("torch", "train")
    from dsrs.training.card import write_model
    from dsrs.training.loop import train

    folder = Path(output)
    if start is not None and start.architecture is not None:
        settings = replace(settings, architecture=start.architecture)
    _check_begun(folder, resume)
    device, precision = prepared(machine or Machine())
    try:
        made = make_folders(folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be a folder for models: {error.strerror}") from None
    try:
        trained = train(
            dataset,
            settings,
            folder,
            start=start,
            device=device,
            precision=precision,
            watcher=watcher,
        )
    except BaseException:
        remove_empty(made)  # a start that failed leaves nothing behind
        raise
    return write_model(folder, trained, settings, dataset, test)


def _check_begun(folder: Path, resume: bool) -> None:
    """Refuse to overwrite a run, and to resume one that is not there."""
    begun = (folder / CHECKPOINT_NAME).exists()
    if begun and not resume:
        raise StoreMismatch(
            f"{folder} already holds a training run; resume it (--resume) or choose another folder"
        )
    if resume and not begun:
        raise StoreError(f"{folder} holds no training run to resume; train without --resume")
