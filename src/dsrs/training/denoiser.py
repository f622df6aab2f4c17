"""Training of a denoiser in front of a frozen model, without labels.

Two objectives, for a denoiser D, a model f with probabilities f_c, an image x and noise e of a
size that is drawn anew for each image:

    mean square error   |D(x + e) - x|^2 / d
    stability           -ln f_c(D(x + e)), c the class that f gives to x (Salman et al. 2020)

The second asks for what certificates need: that the denoised noisy image is answered as the clean
one is. It needs gradients of f, which PyTorch modules and most ONNX models have; before a black box
the first is all.
"""

from __future__ import annotations

import copy
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

import dsrs
from dsrs.classifiers import DENOISER_CARD, DENOISER_WEIGHTS, fingerprint_of_module
from dsrs.datasets import Dataset
from dsrs.errors import ClassifierError
from dsrs.files import make_folders, remove_empty, write_whole
from dsrs.networks import ResidualDenoiser
from dsrs.training.batches import by_image, images_of
from dsrs.training.card import save_onnx, save_safetensors
from dsrs.training.loop import Watcher, all_epochs, seed_epoch
from dsrs.training.models import parameter_count
from dsrs.training.session import Machine, prepared
from dsrs.training.settings import DenoiserSettings, one_cycle

DENOISER_ONNX = "denoiser.onnx"
DENOISER_FORMAT = 1
MIRRORED_SHARE = 0.5  # images that are shown with left and right exchanged, without any label


def check_images(dataset: Dataset) -> None:
    """Raise InvalidInput unless a denoiser can be trained on inputs of this shape."""
    ResidualDenoiser(dataset.input_shape, dataset.bounds)


def train_denoiser(
    dataset: Dataset,
    rows: Sequence[int],
    settings: DenoiserSettings,
    output: str | Path,
    *,
    model: nn.Module | None = None,
    no_gradients: str | None = None,
    machine: Machine | None = None,
    watcher: Watcher | None = None,
) -> Path:
    """Train to the last epoch and write the denoiser; the name of its ONNX file, for `denoise`.

    A checkpoint is kept in `output` after each epoch, and the same call goes on from it.

    Args:
        dataset: Images; labels are not used.
        rows: Which of them to learn from; certify others.
        settings: Sizes of the noise and optimisation.
        output: Folder of denoiser.onnx, denoiser.safetensors, denoiser.json and the checkpoint.
        model: The model that will stand behind it, for stability; None: mean square error alone.
        no_gradients: Why there is no `model`, for the card.
        machine: Device, precision and threads.
        watcher: Is told how the run goes on.
    """
    folder = Path(output)
    device, precision = prepared(machine or Machine())
    seed_epoch(settings.seed, 0)
    shape = dataset.input_shape
    network = ResidualDenoiser(shape, dataset.bounds, settings.channels)
    made = make_folders(folder)
    frozen = None if model is None else copy.deepcopy(model).eval().requires_grad_(False)
    for each in (network, frozen):
        if each is not None:
            each.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    sources = {"data": dataset.fingerprint}
    if model is not None:
        sources["model"] = fingerprint_of_module(model)
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
    run = _Run(
        dataset, np.asarray(rows), settings, network, frozen, optimizer, device, precision, watcher
    )
    try:
        history = all_epochs(folder, settings, sources, network, optimizer, run.epoch, watcher)
    except BaseException:
        remove_empty(made)  # a start that failed leaves nothing behind
        raise
    said = {"no_gradients": no_gradients}
    return _written(folder, network.eval().to("cpu"), settings, sources, history, said)


@dataclass(frozen=True)
class _Run:
    dataset: Dataset
    rows: NDArray[np.int64]
    settings: DenoiserSettings
    network: nn.Module
    frozen: nn.Module | None
    optimizer: torch.optim.Optimizer
    device: str
    precision: str
    watcher: Watcher | None

    def epoch(self, epoch: int) -> dict[str, Any]:
        """Go over the data once; return the epoch's record."""
        settings, started = self.settings, time.monotonic()
        generator = seed_epoch(settings.seed, epoch)
        stable = self.frozen is not None and epoch > settings.square_share * settings.epochs
        if stable and epoch - 1 <= settings.square_share * settings.epochs:
            # Adam's mean squares are those of the other objective, whose gradients are far
            # smaller: kept, they make the first steps of this one so long that it diverges.
            self.optimizer.state.clear()
        self.network.train()
        order, size = generator.permutation(self.rows), settings.batch_size
        steps, total, agreed = math.ceil(len(order) / size), 0.0, 0.0
        for step in range(steps):
            images = images_of(self.dataset, order[step * size : (step + 1) * size])
            mirrored = torch.from_numpy(generator.random((len(images), 1, 1, 1)) < MIRRORED_SHARE)
            images = torch.where(mirrored, images.flip(-1), images)
            share = (epoch - 1 + (step + 1) / steps) / settings.epochs
            for group in self.optimizer.param_groups:
                group["lr"] = one_cycle(settings.learning_rate, share)
            images = images.to(self.device, memory_format=torch.channels_last)
            loss, same = self._step(images, stable)
            total, agreed = total + loss * len(images), agreed + same * len(images)
            if self.watcher is not None:
                self.watcher.batch_done(len(images))
        if not math.isfinite(total):
            raise ClassifierError(
                f"the denoiser diverged in epoch {epoch}; start again with a lower learning rate"
            )
        return {
            "epoch": epoch,
            "objective": "stability" if stable else "square error",
            "loss": total / len(order),
            "agreement": agreed / len(order) if stable else None,
            "seconds": round(time.monotonic() - started, 1),
        }

    def _step(self, images: Tensor, stable: bool) -> tuple[float, float]:
        """One step; the loss, and the share of answers that the noise left as they were."""
        reduced = self.precision == "bfloat16"
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=reduced):
            cleaned = self.network(images + self._noise(images)).float()
            same = 0.0
            if stable:
                loss, same = self._stability(images, cleaned)
            else:
                loss = functional.mse_loss(cleaned, images)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.most_gradient)
        self.optimizer.step()
        return float(loss.detach()), same

    def _stability(self, images: Tensor, cleaned: Tensor) -> tuple[Tensor, float]:
        assert self.frozen is not None
        with torch.no_grad():
            classes = self.frozen(images).argmax(dim=1)
        logits = self.frozen(cleaned).float()
        same = float((logits.detach().argmax(dim=1) == classes).float().mean())
        return functional.cross_entropy(logits, classes), same

    def _noise(self, images: Tensor) -> Tensor:
        """Gaussian noise of another size for each image, as often small as large."""
        low, high = math.log(self.settings.smallest), math.log(self.settings.largest)
        shares = by_image(torch.rand(len(images), device=images.device), images)
        return torch.exp(low + (high - low) * shares) * torch.randn_like(images)


def _written(
    folder: Path,
    network: ResidualDenoiser,
    settings: DenoiserSettings,
    sources: dict[str, str],
    history: list[dict[str, Any]],
    said: dict[str, Any],
) -> Path:
    save_safetensors(network, folder / DENOISER_WEIGHTS)
    difference = save_onnx(network, network.input_shape, folder / DENOISER_ONNX, "denoised")
    card = {
        "format": DENOISER_FORMAT,
        "input_shape": list(network.input_shape),
        "bounds": list(network.bounds),
        "parameters": parameter_count(network),
        "settings": settings.to_dict(),
        "sources": sources,
        **said,
        "training_seconds": round(sum(record["seconds"] for record in history), 1),
        "history": history,
        "onnx_difference": difference,
        "versions": {"dsrs": dsrs.__version__, "torch": torch.__version__},
    }
    write_whole(
        folder / DENOISER_CARD, (json.dumps(card, indent=2, allow_nan=False) + "\n").encode()
    )
    return folder / DENOISER_ONNX
