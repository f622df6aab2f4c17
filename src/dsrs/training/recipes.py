"""The training recipes: for each a record of its settings, and the loss of one batch.

A recipe is a frozen dataclass derived from `Recipe` whose fields are made by `setting`, with the
settings that its authors recommend, and its loss. The command line, the card of a model and the
checkpoint read everything from the record, so a new recipe needs its class and a line in `RECIPES`.
PyTorch is imported inside functions: the help of `dsrs train` reads the records without it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from dsrs.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Value = TypeVar("Value")


def setting(
    default: Value, help: str, *, kind: type[float] = float, least: float | None = 0.0
) -> Value:
    """A field of a recipe that `dsrs train` offers as an option.

    Args:
        default: The value where the recipe recommends no other one for the data.
        help: What the option does, for `dsrs train --help`.
        kind: int or float.
        least: The smallest value that is allowed; None for no limit.
    """
    return field(default=default, metadata={"help": help, "kind": kind, "least": least})


@dataclass(frozen=True)
class Batch:
    """What a recipe is given for one step of the optimiser.

    Attributes:
        images: n images in [0, 1].
        labels: Their n classes.
        noise: Gives fresh noise of the shape of a batch.
        ramp: Rises from 0 to 1 over the first epochs; scales what a recipe adds to the cross
            entropy or how far it attacks, where its authors do so.
    """

    images: Tensor
    labels: Tensor
    noise: Callable[[Tensor], Tensor]
    ramp: float = 1.0


@dataclass(frozen=True)
class Recipe(ABC):
    """How to train a base classifier for smoothing.

    Class attributes: `name` chooses the recipe on the command line, `summary` says what it does in
    a line, `source` where it comes from.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]

    noises: int = setting(1, "noise vectors per image (m)", kind=int, least=1)

    def __post_init__(self) -> None:
        for entry in fields(self):
            value, least = getattr(self, entry.name), entry.metadata["least"]
            if value is None and entry.default is None:
                continue
            if not math.isfinite(value) or (least is not None and value < least):
                wanted = "finite" if least is None else f"at least {least:g}"
                raise InvalidInput(f"`{entry.name}` must be {wanted}, got {value}")

    @abstractmethod
    def objective(self, model: Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """The loss of a batch, and the logits (m, n, classes) that the training answers are in."""

    @classmethod
    def recommended(cls, data: str, sigma: float) -> Recipe:
        """The settings that the recipe's authors recommend for `data` and noise of size `sigma`."""
        return cls()

    @classmethod
    def schedule(cls, data: str) -> dict[str, Any]:
        """Fields of `TrainingSettings` in which the recipe departs from those of the data."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `recipe_from_dict` gives the same recipe back."""
        return {"name": self.name, **asdict(self)}


# ---- Gaussian augmentation: cross entropy at noisy images


@dataclass(frozen=True)
class GaussianAugmentation(Recipe):
    """The mean over noise and images of -ln f_y(x + noise), f the probabilities of the classes."""

    name: ClassVar[str] = "gaussian"
    summary: ClassVar[str] = "cross entropy at noisy images"
    source: ClassVar[str] = "Cohen et al. 2019"

    def objective(self, model: Module, batch: Batch) -> tuple[Tensor, Tensor]:
        from dsrs.training.batches import noisy_cross_entropy, noisy_logits, repeated

        offsets = batch.noise(repeated(batch.images, self.noises))
        logits = noisy_logits(model, batch.images, offsets)
        return noisy_cross_entropy(logits, batch.labels), logits


# ---- Consistency regularisation: the answers to one image under different noise should agree

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
        from dsrs.training.batches import noisy_cross_entropy, noisy_logits, repeated

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

    from dsrs.training.batches import log_smoothed

    answers = functional.log_softmax(logits, dim=-1)
    log_mean = log_smoothed(logits)
    mean = log_mean.exp()
    divergence = (mean * (log_mean - answers)).sum(dim=-1).mean()
    entropy = -(mean * log_mean).sum(dim=-1).mean()
    return agreement_weight * divergence + entropy_weight * entropy


# ---- SmoothMix: mix each image with an adversarial one, and ask for less confidence there


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

        from dsrs.training.batches import by_image, frozen_statistics, noisy_logits, repeated

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
        from dsrs.training.batches import ascended, noisy_logits, smoothed_cross_entropy, within

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
    from dsrs.training.batches import divergences, log_smoothed, noisy_cross_entropy

    smoothed = log_smoothed(clean).exp()
    targets = mixed_targets(smoothed, share)
    right = (smoothed.argmax(dim=1) == labels).to(clean.dtype)
    strayed = right * divergences(targets, mixed)
    return noisy_cross_entropy(clean, labels) + mix_weight * strayed.mean()


# ---- The recipes by name

RECIPES: dict[str, type[Recipe]] = {
    recipe.name: recipe for recipe in (GaussianAugmentation, Consistency, SmoothMix)
}


def recipe_named(name: str) -> type[Recipe]:
    """The recipe of this name, or InvalidInput."""
    if name not in RECIPES:
        raise InvalidInput(f"`recipe` must be one of {', '.join(RECIPES)}, got {name!r}")
    return RECIPES[name]


def recipe_from_dict(record: dict[str, Any]) -> Recipe:
    """The recipe that `Recipe.to_dict` wrote."""
    settings = {name: value for name, value in record.items() if name != "name"}
    return recipe_named(str(record.get("name")))(**settings)


def recipe_options() -> dict[str, tuple[type[float], str]]:
    """The settings of all recipes by name: the type of the value, and the help of the option.

    The help names the recipes that have the setting, and says what it does in each.
    """
    kinds: dict[str, type[float]] = {}
    meanings: dict[str, dict[str, list[str]]] = {}
    for recipe in RECIPES.values():
        for entry in fields(recipe):
            kinds[entry.name] = entry.metadata["kind"]
            by_help = meanings.setdefault(entry.name, {})
            by_help.setdefault(entry.metadata["help"], []).append(recipe.name)
    return {
        name: (
            kinds[name],
            "; ".join(
                f"{'all' if len(users) == len(RECIPES) else ', '.join(users)}: {help}"
                for help, users in meanings[name].items()
            ),
        )
        for name in kinds
    }
