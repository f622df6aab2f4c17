"""SmoothAdv: cross entropy at images that fool the smoothed classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dsrs.training.recipes.base import Batch, Recipe, setting

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


@dataclass(frozen=True)
class SmoothAdv(Recipe):
    """Adversarial training of the smoothed soft classifier.

    Let e_1, ..., e_m be noise, f(x) the probabilities of the classes at x and T = `steps`. The
    attack maximises over |x' - x| <= eps = ramp `attack_radius`, x' in [0, 1],

        J(x') = -ln( (1/m) sum_i f_y(x' + e_i) )

    by projected gradient steps: x' goes 2 eps / T along the gradient of J divided by its length,
    is brought back to the ball and then to [0, 1], T times. The loss is the mean over i of
    -ln f_y(x' + e_i), under the same noise.
    """

    name: ClassVar[str] = "smoothadv"
    summary: ClassVar[str] = "cross entropy at images that fool the smoothed classifier"
    source: ClassVar[str] = "Salman et al. 2019"

    noises: int = setting(4, "noise vectors per image (m)", kind=int, least=1)
    steps: int = setting(10, "gradient steps of the attack (T)", kind=int, least=1)
    attack_radius: float = setting(1.0, "largest distance of an attacked image or noise (eps)")

    @classmethod
    def recommended(cls, data: str, sigma: float) -> SmoothAdv:
        # MNIST: the repository of SmoothMix, which compares with it. The others are ours: Salman
        # et al. report many choices and no best one.
        return {
            "mnist": cls(),
            "cifar10": cls(noises=2),
            "imagenet": cls(noises=1, steps=1),
        }[data]

    def objective(self, model: Module, batch: Batch) -> tuple[Tensor, Tensor]:
        from dsrs.training.answers import (
            frozen_statistics,
            noisy_cross_entropy,
            noisy_logits,
            repeated,
        )

        offsets = batch.noise(repeated(batch.images, self.noises))
        with frozen_statistics(model):
            adversarial = self.attacked(model, batch, offsets)
        logits = noisy_logits(model, adversarial, offsets)
        return noisy_cross_entropy(logits, batch.labels), logits

    def attacked(self, model: Module, batch: Batch, offsets: Tensor) -> Tensor:
        """The images x' of the class docstring; `offsets` (m n, ...) is the noise."""
        from dsrs.training.answers import noisy_logits, smoothed_cross_entropy
        from dsrs.training.attacks import ascended, within

        def fooled(images: Tensor) -> Tensor:
            return smoothed_cross_entropy(noisy_logits(model, images, offsets), batch.labels)

        radius = batch.ramp * self.attack_radius
        moving = batch.images
        for _ in range(self.steps):
            moving = ascended(fooled, moving, 2 * radius / self.steps)
            moving = within(moving, batch.images, radius).clamp(0, 1)
        return moving
