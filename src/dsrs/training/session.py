"""Training from data to files: the machine that it uses, and the one function that users call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput, StoreError, StoreMismatch, imported
from dsrs.files import make_folders, remove_empty
from dsrs.training.settings import CHECKPOINT_NAME, TrainingSettings

if TYPE_CHECKING:
    from dsrs.training.loop import Watcher
    from dsrs.training.models import SavedModel

# ---- Where to train, with how many bits and how many threads

DEVICES = ("auto", "cuda", "mps", "cpu")
PRECISIONS = ("auto", "float32", "bfloat16")
MOST_THREADS = 1024


@dataclass(frozen=True)
class Machine:
    """What a run uses of the machine.

    Attributes:
        device: auto (the fastest there is), cuda, mps or cpu.
        precision: auto (see `prepared`), float32 or bfloat16.
        threads: CPU threads; None: all cores.
    """

    device: str = "auto"
    precision: str = "auto"
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.threads is not None and not 1 <= self.threads <= MOST_THREADS:
            raise InvalidInput(f"`threads` must be from 1 to {MOST_THREADS}, got {self.threads}")
        for name, known in (("device", DEVICES), ("precision", PRECISIONS)):
            if getattr(self, name) not in known:
                raise InvalidInput(
                    f"the {name} must be one of {', '.join(known)}, got {getattr(self, name)!r}"
                )


def prepared(machine: Machine) -> tuple[str, str]:
    """Set the number of threads; return the device and the precision of the run.

    Precision `auto` is bfloat16 where the hardware multiplies it faster, float32 elsewhere:
    bfloat16 has float32's range, so it needs no loss scaling and resumes as exactly.
    """
    import torch

    if machine.threads is not None:
        torch.set_num_threads(machine.threads)
    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    device, precision = machine.device, machine.precision
    if device == "auto":
        device = next(each for each, usable in there.items() if usable)
    if not there[device]:
        raise InvalidInput(f"this machine has no usable {device} device; use --device auto")
    if precision == "auto":
        fast = device == "cuda" and torch.cuda.is_bf16_supported()
        precision = "bfloat16" if fast else "float32"
    return device, precision


# ---- The function that the command line and Python users call


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
