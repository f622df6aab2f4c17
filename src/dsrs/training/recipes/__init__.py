"""The training recipes: one file each, named here once."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from dsrs.errors import InvalidInput
from dsrs.training.recipes.base import Batch, Recipe, setting
from dsrs.training.recipes.consistency import Consistency
from dsrs.training.recipes.gaussian import GaussianAugmentation
from dsrs.training.recipes.smoothmix import SmoothMix

__all__ = ["RECIPES", "Batch", "Recipe", "recipe_from_dict", "recipe_options", "setting"]

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
