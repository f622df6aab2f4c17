"""Gaussian augmentation: cross entropy at noisy images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dsrs.training.recipes.base import Batch, Recipe

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


@dataclass(frozen=True)
class GaussianAugmentation(Recipe):
    """The mean over noise and images of -ln f_y(x + noise), f the probabilities of the classes."""

    name: ClassVar[str] = "gaussian"
    summary: ClassVar[str] = "cross entropy at noisy images"
    source: ClassVar[str] = "Cohen et al. 2019"

    def objective(self, model: Module, batch: Batch) -> tuple[Tensor, Tensor]:
        from dsrs.training.answers import noisy_cross_entropy, noisy_logits, repeated

        offsets = batch.noise(repeated(batch.images, self.noises))
        logits = noisy_logits(model, batch.images, offsets)
        return noisy_cross_entropy(logits, batch.labels), logits
