"""SmoothMix: mix each image with an adversarial one, and ask for less confidence there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dsrs.errors import InvalidInput
from dsrs.training.recipes.base import Batch, Recipe, setting

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


@dataclass(frozen=True)
class SmoothMix(Recipe):
    """Cross entropy at the clean image + `mix_weight` times the loss at a mixed one.

    Let x_0 = x and x_(t+1) = x_t + `step_size` g / |g|, kept in [0, 1] and within `max_norm` of x,
    where g is the gradient of -ln of the smoothed probability of the label at x_t. The adversarial
    image is x_T, T = `steps`. The clean image is x_s, s = `mix_step`, brought within
    ramp s `step_size` of x: x itself where s = 0. All of them are answered under the same m noise
    vectors. The mixed image lies a share between 0 and 1/2 of the way from the clean one to x_T.
    """

    name: ClassVar[str] = "smoothmix"
    summary: ClassVar[str] = "+ less confidence at images mixed with adversarial ones"
    source: ClassVar[str] = "Jeong et al. 2021"

    noises: int = setting(4, "noise vectors per image (m)", kind=int, least=1)
    mix_weight: float = setting(5.0, "weight of the loss at mixed images (eta)")
    steps: int = setting(4, "gradient steps to the adversarial image (T)", kind=int, least=1)
    step_size: float = setting(1.0, "length of a gradient step (alpha)")
    mix_step: int = setting(
        1, "steps after which an image counts as the clean one; 0: the image itself", kind=int
    )
    max_norm: float | None = setting(
        None, "largest distance of the adversarial image (default: none)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mix_step >= self.steps:
            raise InvalidInput(
                f"`mix_step` must be below `steps` = {self.steps}, got {self.mix_step}: "
                "the clean image comes before the adversarial one"
            )

    @classmethod
    def recommended(cls, data: str, sigma: float) -> SmoothMix:
        if data == "mnist":
            # The repository of SmoothMix: 2, 4 and 8 steps at sigma 0.25, 0.5 and 1.
            return cls(steps=max(2, round(8 * sigma)))
        if data == "cifar10":
            # The repository of SmoothMix: steps of 0.5, 1 and 2 at sigma 0.25, 0.5 and 1.
            return cls(noises=2, step_size=2 * sigma)
        # The README of the paper's authors.
        return cls(noises=1, mix_weight=1.0, steps=1, step_size=8.0, mix_step=0)

    @classmethod
    def schedule(cls, data: str) -> dict[str, Any]:
        # The README of the paper's authors; the paper itself names one schedule for all recipes.
        schedules: dict[str, dict[str, Any]] = {
            "mnist": {"epochs": 90, "decay_at": (30, 60), "warm_up": 70},
            "cifar10": {"learning_rate": 0.1, "warm_up": 110},
            "imagenet": {
                "learning_rate": 0.01,
                "decay_at": (),
                "warm_up": 200_000,
                "batch_size": 48,
                "ramp_epochs": 10,
            },
        }
        return schedules[data]

    def objective(self, model: Module, batch: Batch) -> tuple[Tensor, Tensor]:
        import torch

        from dsrs.training.answers import by_image, frozen_statistics, noisy_logits, repeated

        offsets = batch.noise(repeated(batch.images, self.noises))
        with frozen_statistics(model):
            clean, adversarial = self.clean_and_adversarial(model, batch, offsets)
        share = torch.rand(len(clean), device=clean.device) / 2
        blend = clean + by_image(share, clean) * (adversarial - clean)
        logits = noisy_logits(model, clean, offsets)
        mixed = noisy_logits(model, blend, offsets)
        weight = self.mix_weight * batch.ramp
        return mixed_loss(logits, mixed, batch.labels, share, weight), logits

    def clean_and_adversarial(
        self, model: Module, batch: Batch, offsets: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The images x_s and x_T of the class docstring."""
        from dsrs.training.answers import noisy_logits, smoothed_cross_entropy
        from dsrs.training.attacks import ascended, within

        def fooled(images: Tensor) -> Tensor:
            return smoothed_cross_entropy(noisy_logits(model, images, offsets), batch.labels)

        clean = moving = batch.images
        for step in range(self.steps):
            if step == self.mix_step:
                clean = moving
            moving = ascended(fooled, moving, self.step_size)
            moving = within(moving, batch.images, self.max_norm).clamp(0, 1)
        reach = batch.ramp * self.step_size * self.mix_step
        return within(clean, batch.images, reach), moving


def mixed_targets(smoothed: Tensor, share: Tensor) -> Tensor:
    """(1 - share) smoothed + share uniform: what SmoothMix asks for at a mixed image.

    `smoothed` (n, classes) are smoothed probabilities at the clean image; `share` (n,) is how far
    the mixed image has gone toward the adversarial one.
    """
    kept = (1 - share).unsqueeze(1) * smoothed
    return kept + share.unsqueeze(1) / smoothed.shape[1]


def mixed_loss(
    clean: Tensor, mixed: Tensor, labels: Tensor, share: Tensor, mix_weight: float
) -> Tensor:
    """Cross entropy at the clean images + mix_weight KL(targets || answer) at the mixed ones.

    `clean` and `mixed` are logits (m, n, classes) under the same noise. An image that the smoothed
    classifier gets wrong adds nothing to the second term.
    """
    from dsrs.training.answers import divergences, log_smoothed, noisy_cross_entropy

    smoothed = log_smoothed(clean).exp()
    targets = mixed_targets(smoothed, share)
    right = (smoothed.argmax(dim=1) == labels).to(clean.dtype)
    strayed = right * divergences(targets, mixed)
    return noisy_cross_entropy(clean, labels) + mix_weight * strayed.mean()
