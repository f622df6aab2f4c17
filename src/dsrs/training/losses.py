"""The losses of the training recipes, as pure functions of logits.

`logits` of m noise vectors a batch of n images have shape (m, n, classes).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional


def noisy_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross entropy over noise vectors and images (Cohen et al. 2019)."""
    m, n, classes = logits.shape
    return functional.cross_entropy(logits.reshape(m * n, classes), labels.repeat(m))


def log_smoothed(logits: Tensor) -> Tensor:
    """Logarithm of the mean probability over the noise vectors, of shape (n, classes)."""
    return torch.logsumexp(functional.log_softmax(logits, dim=-1), dim=0) - math.log(len(logits))


def consistency(logits: Tensor, lbd: float, eta: float) -> Tensor:
    """lbd KL(mean || each) + eta H(mean), averaged over noise and images (Jeong & Shin 2020).

    `mean` is the mean probability over the noise vectors, so the first term makes the answers
    under different noise agree and the second makes their mean decided.
    """
    each = functional.log_softmax(logits, dim=-1)
    log_mean = log_smoothed(logits)
    mean = log_mean.exp()
    divergence = (mean * (log_mean - each)).sum(dim=-1).mean()
    entropy = -(mean * log_mean).sum(dim=-1).mean()
    return lbd * divergence + eta * entropy


def smoothed_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Sum over images of -ln of the smoothed probability of the label.

    Its gradient by the images is the direction that fools the smoothed classifier fastest
    (Salman et al. 2019); a sum, so that an image's gradient does not depend on its batch.
    """
    return functional.nll_loss(log_smoothed(logits), labels, reduction="sum")


def mixed_targets(smoothed: Tensor, share: Tensor) -> Tensor:
    """(1 - share) smoothed + share uniform: what SmoothMix asks for at a mixed image.

    `smoothed` (n, classes) are smoothed probabilities at the clean image; `share` (n,) is how far
    the mixed image has gone toward the adversarial one (Jeong et al. 2021).
    """
    kept = (1 - share).unsqueeze(1) * smoothed
    return kept + share.unsqueeze(1) / smoothed.shape[1]


def smoothmix(clean: Tensor, mixed: Tensor, labels: Tensor, share: Tensor, eta: float) -> Tensor:
    """Cross entropy at the clean images + eta KL(targets || answer) at the mixed ones.

    `clean` and `mixed` are logits (m, n, classes) under the same noise. An image that the smoothed
    classifier gets wrong adds nothing to the second term (Jeong et al. 2021).
    """
    smoothed = log_smoothed(clean).exp()
    targets = mixed_targets(smoothed, share)
    right = (smoothed.argmax(dim=1) == labels).to(clean.dtype)
    answers = functional.log_softmax(mixed, dim=-1)
    divergence = (torch.xlogy(targets, targets) - targets * answers).sum(dim=-1)
    return noisy_cross_entropy(clean, labels) + eta * (right * divergence).mean()
