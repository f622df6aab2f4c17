"""How often a trained model is right: without noise, and under one draw of the smoothing law."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from dsrs.datasets import Dataset
from dsrs.training.batches import tensors
from dsrs.training.checkpoint import seed_epoch
from dsrs.training.noise import NoiseLaw, sample_noise

EVALUATION_BATCH = 500


def accuracy(model: nn.Module, dataset: Dataset, law: NoiseLaw, seed: int) -> dict[str, Any]:
    """Clean and noisy accuracy of the base classifier, in evaluation mode, over a labelled dataset.

    Noisy accuracy is the mean of P_A over the dataset, estimated with one noise vector an image.
    """
    generator = seed_epoch(seed, 0)
    clean, noisy = 0, 0
    with torch.no_grad():
        for start in range(0, len(dataset), EVALUATION_BATCH):
            images, labels = tensors(
                dataset, np.arange(start, min(start + EVALUATION_BATCH, len(dataset)))
            )
            offsets = sample_noise(law, images, generator)
            clean += int((model(images).argmax(dim=1) == labels).sum())
            noisy += int((model(images + offsets).argmax(dim=1) == labels).sum())
    return {
        "images": len(dataset),
        "clean_accuracy": clean / len(dataset),
        "noisy_accuracy": noisy / len(dataset),
    }
