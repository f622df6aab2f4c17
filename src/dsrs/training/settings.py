"""Everything that decides what a training run does, in one record that can be saved."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from dsrs.errors import InvalidInput
from dsrs.training.recipes import Recipe, recipe_from_dict

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
