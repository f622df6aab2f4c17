"""The training recipes: what each asks of a model on one batch.

A recipe is a frozen record of its hyperparameters with `noises`, the number m of noise vectors
an image, and `objective`, the loss of one batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from dsrs.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    NoiseSource = Callable[[Tensor], Tensor]


class Recipe(Protocol):
    """How to train a base classifier for smoothing."""

    name: ClassVar[str]

    @property
    def noises(self) -> int:
        """Noise vectors an image, m in the papers."""
        ...

    def objective(
        self,
        model: Module,
        images: Tensor,
        labels: Tensor,
        noise: NoiseSource,
        ramp: float = 1.0,
    ) -> tuple[Tensor, Tensor]:
        """The loss of a batch, and the logits (m, n, classes) at its noisy images.

        `noise` gives fresh noise of a batch's shape. `ramp` rises from 0 to 1 over the first
        epochs and scales what a recipe adds to the cross entropy, where its paper does so.
        """
        ...


@dataclass(frozen=True)
class GaussianAugmentation:
    """Cross entropy at noisy images (Cohen et al. 2019)."""

    name: ClassVar[str] = "gaussian"
    noises: int = 1

    def objective(
        self, model: Module, images: Tensor, labels: Tensor, noise: NoiseSource, ramp: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        from dsrs.training.losses import noisy_cross_entropy

        logits = noisy_logits(model, images, noise(repeated(images, self.noises)))
        return noisy_cross_entropy(logits, labels), logits


@dataclass(frozen=True)
class Consistency:
    """Gaussian augmentation + agreement between the answers under noise (Jeong & Shin 2020)."""

    name: ClassVar[str] = "consistency"
    lbd: float = 5.0
    eta: float = 0.5
    noises: int = 2

    def objective(
        self, model: Module, images: Tensor, labels: Tensor, noise: NoiseSource, ramp: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        from dsrs.training.losses import consistency, noisy_cross_entropy

        logits = noisy_logits(model, images, noise(repeated(images, self.noises)))
        loss = noisy_cross_entropy(logits, labels) + consistency(logits, self.lbd, self.eta)
        return loss, logits


@dataclass(frozen=True)
class SmoothMix:
    """Mix each image with an adversarial one, and ask for less confidence there.

    Jeong et al. 2021: `steps` (T) gradient steps of length `step_size` (alpha) against the
    smoothed classifier, `eta` the weight of the mixed term, which rises over the first epochs.
    """

    name: ClassVar[str] = "smoothmix"
    eta: float = 5.0
    steps: int = 4
    step_size: float = 1.0
    noises: int = 4

    def objective(
        self, model: Module, images: Tensor, labels: Tensor, noise: NoiseSource, ramp: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        import torch

        from dsrs.training.losses import smoothmix

        offsets = noise(repeated(images, self.noises))
        model.eval()  # the way to the adversarial images leaves no trace in batch statistics
        adversarial = fooling_images(model, images, labels, offsets, self.steps, self.step_size)
        model.train()
        share = torch.rand(len(images), device=images.device) / 2
        weight = share.view(-1, *[1] * (images.dim() - 1))
        blend = (1 - weight) * images + weight * adversarial
        clean = noisy_logits(model, images, offsets)
        mixed = noisy_logits(model, blend, offsets)
        return smoothmix(clean, mixed, labels, share, self.eta * ramp), clean


RECIPES: dict[str, type[Any]] = {
    recipe.name: recipe for recipe in (GaussianAugmentation, Consistency, SmoothMix)
}


def recipe_to_dict(recipe: Recipe) -> dict[str, Any]:
    """For JSON; `recipe_from_dict` gives the same recipe back."""
    return {"name": recipe.name, **asdict(recipe)}  # type: ignore[call-overload]


def recipe_from_dict(fields: dict[str, Any]) -> Recipe:
    """The recipe of this name with these hyperparameters."""
    name = fields.get("name")
    if name not in RECIPES:
        raise InvalidInput(f"the recipe must be one of {', '.join(RECIPES)}, got {name!r}")
    recipe: Recipe = RECIPES[name](**{key: fields[key] for key in fields if key != "name"})
    return recipe


def repeated(images: Tensor, count: int) -> Tensor:
    """`count` copies of the batch, one after another, along the batch axis."""
    return images.repeat(count, *[1] * (images.dim() - 1))


def noisy_logits(model: Module, images: Tensor, offsets: Tensor) -> Tensor:
    """Logits (m, n, classes) at n images under `offsets`, m noise vectors for each, (m n, ...)."""
    count = len(offsets) // len(images)
    logits: Tensor = model(repeated(images, count) + offsets)
    return logits.float().reshape(count, len(images), -1)


def fooling_images(
    model: Module, images: Tensor, labels: Tensor, offsets: Tensor, steps: int, step_size: float
) -> Tensor:
    """Images in [0, 1] reached by `steps` normalised gradient steps against the smoothed label.

    The length of the way is not bounded: SmoothMix wants images far enough to be fooled.
    """
    import torch

    from dsrs.training.losses import smoothed_cross_entropy

    moving = images
    for _ in range(steps):
        moving = moving.detach().requires_grad_()
        loss = smoothed_cross_entropy(noisy_logits(model, moving, offsets), labels)
        (gradient,) = torch.autograd.grad(loss, moving)
        length = gradient.flatten(1).norm(dim=1).view(-1, *[1] * (images.dim() - 1))
        moving = (moving + step_size * gradient / (length + 1e-8)).clamp(0, 1)
    return moving.detach()
