"""CAT-RS: fit what the smoothed classifier can get right, and guard what it gets right surely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dsrs.training.recipes.base import Batch, Recipe, setting

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


@dataclass(frozen=True)
class CatRs(Recipe):
    """Confidence-aware training.

    Let e_1, ..., e_m be noise, f(x) the probabilities of the classes at x, h(x) the class that f
    calls most likely, and p = #{i: h(x + e_i) = y} / m, the estimated confidence. Draw
    K ~ Binomial(m, p), at least 1. With the cross entropies L_i = -ln f_y(x + e_i) in rising order
    L_(1) <= ... <= L_(m), the loss of an image is

        (1/m) sum_(i <= K) L_(i)  +  1[K = m] worst_weight max_i KL(t || f(x + e*_i)),

    so noise under which the image is hopeless is not fitted, and an image that is right under all
    noise must stay so under the worst of it. e*_i maximises KL(t || f(x + e*_i)) over
    |e*_i - e_i| <= eps = `attack_radius`: T = `steps` steps of 2 eps / T along the gradient divided
    by its length, each brought back to the ball and then to the mean and the variance of e_i, so
    that e*_i stays as likely as e_i was. t are the smoothed probabilities
    (1/m) sum_i g(x + e_i) of a teacher g, a model that was trained by Gaussian augmentation;
    without one g is f itself, and t is held fixed.
    """

    name: ClassVar[str] = "cat-rs"
    summary: ClassVar[str] = "cross entropy of likely noise + the worst noise of sure images"
    source: ClassVar[str] = "Jeong et al. 2023"
    takes_teacher: ClassVar[bool] = True

    noises: int = setting(4, "noise vectors per image (m)", kind=int, least=1)
    steps: int = setting(4, "gradient steps of the attack (T)", kind=int, least=1)
    attack_radius: float = setting(1.0, "largest distance of an attacked image or noise (eps)")
    worst_weight: float = setting(1.0, "weight of the worst noise of sure images (lbd)")

    @classmethod
    def recommended(cls, data: str, sigma: float) -> CatRs:
        # The repository of CAT-RS, which lists CIFAR-100 and ImageNet: weights of 0.5, 1 and 2 at
        # sigma 0.25, 0.5 and 1.
        if data == "imagenet":
            return cls(noises=2, steps=1, worst_weight=2 * sigma)
        return cls(worst_weight=2 * sigma)

    def objective(self, model: Module, batch: Batch) -> tuple[Tensor, Tensor]:
        import torch

        from dsrs.training.answers import frozen_statistics, log_smoothed, noisy_logits, repeated

        offsets = batch.noise(repeated(batch.images, self.noises))
        logits = noisy_logits(model, batch.images, offsets)
        with torch.no_grad():
            known = (
                logits.detach()
                if batch.teacher is None
                else noisy_logits(batch.teacher, batch.images, offsets)
            )
            targets = log_smoothed(known).exp()
            confidence = (logits.argmax(dim=-1) == batch.labels).float().mean(dim=0)
            draws = torch.rand(self.noises, len(confidence), device=confidence.device)
            kept = (draws < confidence).sum(dim=0).clamp(min=1)
        with frozen_statistics(model):
            worst = self.worst_noise(model, batch.images, targets, offsets)
        answers = noisy_logits(model, batch.images, worst)
        loss = confidence_aware_loss(
            logits, answers, batch.labels, targets, kept, self.worst_weight
        )
        return loss, logits

    def worst_noise(
        self, model: Module, images: Tensor, targets: Tensor, offsets: Tensor
    ) -> Tensor:
        """The noise e* of the class docstring, (m n, ...) as `offsets` is."""
        from dsrs.training.answers import divergences, noisy_logits
        from dsrs.training.attacks import ascended, with_moments_of, within

        def strayed(noise: Tensor) -> Tensor:
            return divergences(targets, noisy_logits(model, images, noise)).sum()

        moving = offsets
        for _ in range(self.steps):
            moving = ascended(strayed, moving, 2 * self.attack_radius / self.steps)
            moving = with_moments_of(within(moving, offsets, self.attack_radius), offsets)
        return moving


def confidence_aware_loss(
    logits: Tensor,
    worst: Tensor,
    labels: Tensor,
    targets: Tensor,
    kept: Tensor,
    worst_weight: float,
) -> Tensor:
    """The loss of the class docstring, averaged over the images.

    Args:
        logits: Answers under the noise e, (m, n, classes).
        worst: Answers under the noise e*, (m, n, classes).
        labels: Classes of the n images.
        targets: The probabilities t, (n, classes).
        kept: K of the n images, whole numbers from 1 to m.
        worst_weight: Weight of the second term.
    """
    import torch
    from torch.nn import functional

    from dsrs.training.answers import divergences

    m = len(logits)
    answers = functional.log_softmax(logits, dim=-1)
    losses = -answers.gather(-1, labels.expand(m, -1).unsqueeze(-1)).squeeze(-1)
    rank = torch.arange(m, device=kept.device).unsqueeze(1)
    fitted = (losses.sort(dim=0).values * (rank < kept)).mean(dim=0)
    strayed = divergences(targets, worst).amax(dim=0)
    return (fitted + worst_weight * (kept == m) * strayed).mean()
