"""The settings that a run has unless others are given, by the kind of data.

They are the paper's (appendix on the training strategy); what it leaves open is marked. What a
recipe wants otherwise stands in its own file.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from dsrs.errors import InvalidInput
from dsrs.training.recipes import recipe_named
from dsrs.training.settings import TrainingSettings

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
