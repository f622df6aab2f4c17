"""Consistency regularisation: the answers to one image under different noise should agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dsrs.training.recipes.base import Batch, Recipe, setting

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

# The paper's appendix on the training strategy; the authors of Consistency give the same values.
AGREEMENT_WEIGHT = {"mnist": 5.0, "cifar10": 20.0, "imagenet": 5.0}


@dataclass(frozen=True)
class Consistency(Recipe):
    """Cross entropy at noisy images + `disagreement`."""

    name: ClassVar[str] = "consistency"
    summary: ClassVar[str] = "+ agreement of the answers to an image under different noise"
    source: ClassVar[str] = "Jeong & Shin 2020"

    noises: int = setting(2, "noise vectors per image (m)", kind=int, least=1)
    agreement_weight: float = setting(5.0, "weight of the divergence from the mean answer (lbd)")
    entropy_weight: float = setting(0.5, "weight of the entropy of the mean answer (eta)")

    @classmethod
    def recommended(cls, data: str, sigma: float) -> Consistency:
        return cls(agreement_weight=AGREEMENT_WEIGHT[data])

    def objective(self, model: Module, batch: Batch) -> tuple[Tensor, Tensor]:
        from dsrs.training.answers import noisy_cross_entropy, noisy_logits, repeated

        offsets = batch.noise(repeated(batch.images, self.noises))
        logits = noisy_logits(model, batch.images, offsets)
        added = disagreement(logits, self.agreement_weight, self.entropy_weight)
        return noisy_cross_entropy(logits, batch.labels) + added, logits


def disagreement(logits: Tensor, agreement_weight: float, entropy_weight: float) -> Tensor:
    """agreement_weight KL(mean || answer) + entropy_weight H(mean), averaged over noise and images.

    `mean` is the mean probability over the noise vectors, so the first term makes the answers
    under different noise agree and the second makes their mean decided. `logits` has the shape
    (m, n, classes).
    """
    from torch.nn import functional

    from dsrs.training.answers import log_smoothed

    answers = functional.log_softmax(logits, dim=-1)
    log_mean = log_smoothed(logits)
    mean = log_mean.exp()
    divergence = (mean * (log_mean - answers)).sum(dim=-1).mean()
    entropy = -(mean * log_mean).sum(dim=-1).mean()
    return agreement_weight * divergence + entropy_weight * entropy
