"""Answers of a model to noisy images, and what the losses of several recipes read off them.

Logits of m noise vectors for each of n images have the shape (m, n, classes).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional


def repeated(images: Tensor, count: int) -> Tensor:
    """`count` copies of the batch, one after another, along the batch axis."""
    return images.repeat(count, *[1] * (images.dim() - 1))


def by_image(values: Tensor, images: Tensor) -> Tensor:
    """One value for each image, in a shape that multiplies a batch of images."""
    return values.view(-1, *[1] * (images.dim() - 1))


def noisy_logits(model: nn.Module, images: Tensor, offsets: Tensor) -> Tensor:
    """Logits (m, n, classes) at n images under `offsets`, m noise vectors for each, (m n, ...)."""
    count = len(offsets) // len(images)
    logits: Tensor = model(repeated(images, count) + offsets)
    full = torch.promote_types(logits.dtype, torch.float32)
    return logits.to(full).reshape(count, len(images), -1)


@contextmanager
def frozen_statistics(model: nn.Module) -> Iterator[None]:
    """Evaluation mode: what an attack asks leaves no trace in batch statistics."""
    model.eval()
    try:
        yield
    finally:
        model.train()


def noisy_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross entropy over noise vectors and images."""
    m, n, classes = logits.shape
    return functional.cross_entropy(logits.reshape(m * n, classes), labels.repeat(m))


def log_smoothed(logits: Tensor) -> Tensor:
    """Logarithm of the mean probability over the noise vectors, of shape (n, classes)."""
    return torch.logsumexp(functional.log_softmax(logits, dim=-1), dim=0) - math.log(len(logits))


def divergences(targets: Tensor, logits: Tensor) -> Tensor:
    """KL(targets || answer) for noise vectors and images (m, n).

    Args:
        targets: Probabilities, of shape (n, classes).
        logits: Of shape (m, n, classes).
    """
    answers = functional.log_softmax(logits, dim=-1)
    return (torch.xlogy(targets, targets) - targets * answers).sum(dim=-1)


def smoothed_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Sum over images of -ln of the smoothed probability of the label.

    Its gradient by the images is the direction that fools the smoothed soft classifier fastest
    (Salman et al. 2019); a sum, so that the gradient of an image does not depend on its batch.
    """
    return functional.nll_loss(log_smoothed(logits), labels, reduction="sum")
