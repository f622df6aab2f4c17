"""Everything that decides what a training run does, in records that can be saved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import InvalidInput
from dsrs.training.recipes import Recipe, recipe_from_dict, recipe_named

# ---- What changes over the epochs: the exponent k of the noise and the learning rate
# Both are functions of the epoch or step alone, so a resumed run needs no saved schedule.

RISING_SHARE = 0.25  # of the steps of one cycle
FIRST_RATE = 0.02  # least rate of rising steps, as a share of the peak


def warm_up_k(k0: float, e: int, e0: int) -> float:
    """The exponent of the training noise in the e-th epoch (or step), e = 1, 2, ...

    k = ceil(k0 - k0^(1 - e/e0)) for e <= e0, k0 later (paper, appendix on the training strategy).
    """
    if e < 1 or e0 < 0:
        raise InvalidInput(f"the warm-up counts from `e` = 1 to `e0` >= 0, got e={e}, e0={e0}")
    if e > e0 or k0 == 0:
        return k0
    # k0 < 1 is no whole number of the paper's: the power exceeds k0, and the ceiling is 0.
    return float(min(max(math.ceil(k0 - k0 ** (1 - e / e0)), 0), k0))


def step_decay(learning_rate: float, epoch: int, decay_at: Sequence[int], factor: float) -> float:
    """The learning rate in epoch 1, 2, ...: times `factor` after each epoch of `decay_at`."""
    return learning_rate * factor ** sum(epoch > end for end in decay_at)


def one_cycle(peak: float, share: float) -> float:
    """The learning rate after this share of the steps of a run: up to `peak`, then down to 0.

    It rises linearly over the first RISING_SHARE of the run and falls along half a cosine after it,
    which needs fewer epochs than a rate in steps (Smith and Topin 2018).
    """
    if share < RISING_SHARE:
        return peak * max(share / RISING_SHARE, FIRST_RATE)
    return peak * (1 + math.cos(math.pi * (share - RISING_SHARE) / (1 - RISING_SHARE))) / 2


def ramp(epoch: int, epochs: int) -> float:
    """Rises linearly to 1 over the first `epochs` epochs; epoch counts from 1."""
    return min(1.0, epoch / epochs) if epochs else 1.0


# ---- The settings of a classifier's training

CHECKPOINT_NAME = "checkpoint.pt"  # in the folder of a model
WarmUpUnit = Literal["epoch", "step"]
Schedule = Literal["steps", "one-cycle"]
Augmentation = Literal["none", "crop-flip"]


@dataclass(frozen=True)
class TrainingSettings:
    """Recipe, smoothing law and optimisation. `recommended_settings` holds the paper's choices.

    The law is the generalized Gaussian of `sigma`, `k` and `eta` in the dimension of the data,
    round in `norm`. `warm_up` is e0 of `warm_up_k`, in epochs or optimiser steps. `decay_at` are
    the epochs after which the learning rate is multiplied by `decay_factor`; with the `schedule`
    one-cycle the rate follows `one_cycle` instead. Over `ramp_epochs`
    epochs `Batch.ramp` rises to 1. `batch_size` counts noisy images: a batch has
    batch_size / noises different ones. `hold_out` is the share of the inputs that `held_out` keeps
    out of training.
    """

    recipe: Recipe
    sigma: float
    k: float
    architecture: str
    epochs: int
    warm_up: int
    decay_at: tuple[int, ...]
    learning_rate: float = 0.01
    decay_factor: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 1e-4
    batch_size: int = 256
    warm_up_unit: WarmUpUnit = "epoch"
    ramp_epochs: int = 10
    augmentation: Augmentation = "none"
    seed: int = 0
    eta: float = 2.0
    hold_out: float = 0.0
    schedule: Schedule = "steps"

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("warm_up", 0), ("ramp_epochs", 0), ("seed", 0)):
            if getattr(self, name) < least:
                raise InvalidInput(f"`{name}` must be at least {least}, got {getattr(self, name)}")
        if min(self.decay_at, default=0) < 0:
            raise InvalidInput(f"`decay_at` must hold epochs from 0 on, got {self.decay_at}")
        if self.batch_size < self.recipe.noises:
            raise InvalidInput(
                f"`batch_size` must be at least the recipe's {self.recipe.noises} noise vectors "
                f"an image, got {self.batch_size}"
            )
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise InvalidInput(f"`learning_rate` must be positive, got {self.learning_rate!r}")
        if not 0 <= self.hold_out < 1:
            raise InvalidInput(f"`hold_out` must be a share in [0, 1), got {self.hold_out}")
        if self.schedule not in ("steps", "one-cycle"):
            raise InvalidInput(f"`schedule` must be steps or one-cycle, got {self.schedule!r}")

    @property
    def images_a_step(self) -> int:
        """Different images in one optimiser step."""
        return self.batch_size // self.recipe.noises

    def in_epochs(self, epochs: int) -> TrainingSettings:
        """The same run squeezed or stretched: decays, warm-up and ramp keep their share of it.

        Decays that fall on one epoch are one decay, and none comes before the first epoch ends.
        """
        share = epochs / self.epochs
        ends = sorted({round(end * share) for end in self.decay_at})
        return replace(
            self,
            epochs=epochs,
            decay_at=tuple(end for end in ends if 1 <= end < epochs),
            warm_up=round(self.warm_up * share),
            ramp_epochs=round(self.ramp_epochs * share),
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` gives the same settings back."""
        fields = {**asdict(self), "recipe": self.recipe.to_dict()}
        return {**fields, "decay_at": list(self.decay_at)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> TrainingSettings:
        return cls(
            **{
                **fields,
                "recipe": recipe_from_dict(fields["recipe"]),
                "decay_at": tuple(fields["decay_at"]),
            }
        )


# ---- The settings that a run has unless others are given, by the kind of data
# They are the paper's (appendix on the training strategy); what it leaves open is marked. What a
# recipe wants otherwise stands in its class.

OPTIMISATION: dict[str, dict[str, Any]] = {
    "mnist": {
        "architecture": "mnist-cnn-large",
        "epochs": 150,
        "learning_rate": 0.01,
        "decay_at": (50, 100),
        "warm_up": 100,
    },
    "cifar10": {
        "architecture": "resnet-110",
        "epochs": 150,
        "learning_rate": 0.01,
        "decay_at": (50, 100),
        "warm_up": 100,
        "augmentation": "crop-flip",  # open; as Cohen et al. 2019, whom the paper follows
    },
    "imagenet": {
        # The paper fine-tunes the Gaussian models of Cohen et al.: start from such a model.
        "architecture": "torchvision.models:resnet50",
        "epochs": 10,
        "learning_rate": 0.001,
        "decay_at": tuple(range(1, 10)),
        "warm_up": 10_000,
        "warm_up_unit": "step",
        "ramp_epochs": 0,
    },
}
DATA = tuple(OPTIMISATION)


def similar_data(input_shape: tuple[int, ...]) -> str:
    """The kind of data of `DATA` that inputs of this shape are most like."""
    if input_shape[0] == 1:
        return "mnist"
    return "cifar10" if max(input_shape[1:], default=0) <= 64 else "imagenet"


def recommended_settings(
    data: str, recipe: str, sigma: float, k: float, **changes: Any
) -> TrainingSettings:
    """The paper's settings for the data and the recipe's own, with `changes`.

    Args:
        data: mnist, cifar10 or imagenet: data of this kind.
        recipe: A name of `dsrs.training.RECIPES`.
        sigma: Size of the noise that the model will be smoothed with.
        k: Exponent of its law.
        **changes: Other fields of `TrainingSettings`.
    """
    if data not in OPTIMISATION:
        raise InvalidInput(f"settings are known for {', '.join(DATA)}, got {data!r}")
    chosen = recipe_named(recipe)
    optimisation = {**OPTIMISATION[data], **chosen.schedule(data), **changes}
    return TrainingSettings(
        recipe=chosen.recommended(data, sigma), sigma=sigma, k=k, **optimisation
    )


def with_recipe(settings: TrainingSettings, **changes: Any) -> TrainingSettings:
    """The same settings with some of the recipe's own changed.

    A setting that the recipe does not have is refused.
    """
    recipe = settings.recipe
    own = [entry.name for entry in fields(recipe)]
    for name in changes:
        if name not in own:
            raise InvalidInput(
                f"the recipe {recipe.name} has no `{name}`; its settings are {', '.join(own)}"
            )
    return replace(settings, recipe=replace(recipe, **changes))


# ---- The settings of a denoiser's training


@dataclass(frozen=True)
class DenoiserSettings:
    """Sizes of the noise, network and optimisation.

    Attributes:
        smallest: Least sigma of the noise, in the units of the data.
        largest: Greatest sigma; each image of a batch has a size of its own in between.
        epochs: Passes over the data.
        square_share: Share of the epochs that begin, by the mean square error. The others ask for
            stability where gradients of the model can be had.
        learning_rate: The peak of `one_cycle`, for Adam.
        most_gradient: Norm to which longer gradients are cut.
        batch_size: Images of one step.
        channels: Channels of the network where it has fewest, see `ResidualDenoiser`.
        seed: Of weights, order and noise.
    """

    smallest: float
    largest: float
    epochs: int = 16
    square_share: float = 0.125
    learning_rate: float = 2e-3
    most_gradient: float = 1.0
    batch_size: int = 128
    channels: int = 24
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.smallest <= self.largest:
            raise InvalidInput(
                "the sizes of the noise must be 0 < `smallest` <= `largest`, got "
                f"{self.smallest} and {self.largest}"
            )
        if not 0 <= self.square_share <= 1:
            raise InvalidInput(f"`square_share` must be in [0, 1], got {self.square_share}")
        for name in ("epochs", "batch_size", "channels"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"`{name}` must be at least 1, got {getattr(self, name)}")
        for name in ("learning_rate", "most_gradient"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"`{name}` must be positive, got {getattr(self, name)}")

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` gives the same settings back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> DenoiserSettings:
        """The settings that `to_dict` wrote."""
        return cls(**fields)


# ---- A part of the inputs that no model is trained on, for what is chosen after training

HELD_OUT_SEED = 20220615  # fixed: the part depends on the data alone


def held_out(size: int, share: float) -> NDArray[np.int64]:
    """The inputs that are kept out of training, in rising order.

    They depend on the size of the data and the share alone, not on the seed of a run, so that
    models of different runs on the same data keep out the same inputs; a smaller share is a part
    of a larger one.

    Args:
        size: Number of training inputs.
        share: Share to keep out, in [0, 1).
    """
    if not 0 <= share < 1:
        raise InvalidInput(f"`hold_out` must be a share in [0, 1), got {share}")
    order = np.random.default_rng(HELD_OUT_SEED).permutation(size)
    return np.sort(order[: round(share * size)])


def trained_on(size: int, share: float) -> NDArray[np.int64]:
    """The other inputs, in rising order."""
    kept = np.setdiff1d(np.arange(size), held_out(size, share))
    if not len(kept):
        raise InvalidInput(f"`hold_out` = {share} leaves none of {size} inputs to train on")
    return kept
