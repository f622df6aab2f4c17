"""Training of base classifiers for smoothing (extra `train`).

Names are loaded when they are first used: the command line reads the recipes alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.training.answers import noisy_cross_entropy as noisy_cross_entropy
    from dsrs.training.answers import noisy_logits as noisy_logits
    from dsrs.training.answers import smoothed_cross_entropy as smoothed_cross_entropy
    from dsrs.training.batches import check_labelled_images as check_labelled_images
    from dsrs.training.checkpoint import Watcher as Watcher
    from dsrs.training.checkpoint import seed_epoch as seed_epoch
    from dsrs.training.defaults import DATA as DATA
    from dsrs.training.defaults import recommended_settings as recommended_settings
    from dsrs.training.defaults import similar_data as similar_data
    from dsrs.training.defaults import with_recipe as with_recipe
    from dsrs.training.denoiser import check_images as check_images
    from dsrs.training.denoiser import train_denoiser as train_denoiser
    from dsrs.training.denoiser_settings import DenoiserSettings as DenoiserSettings
    from dsrs.training.devices import Machine as Machine
    from dsrs.training.export import save_safetensors as save_safetensors
    from dsrs.training.folder import CHECKPOINT_NAME as CHECKPOINT_NAME
    from dsrs.training.held_out_inputs import held_out as held_out
    from dsrs.training.held_out_inputs import trained_on as trained_on
    from dsrs.training.loop import Trained as Trained
    from dsrs.training.loop import train as train
    from dsrs.training.models import SavedModel as SavedModel
    from dsrs.training.models import fresh_model as fresh_model
    from dsrs.training.models import given_model as given_model
    from dsrs.training.models import saved_model as saved_model
    from dsrs.training.models import trained_model as trained_model
    from dsrs.training.noise import NoiseLaw as NoiseLaw
    from dsrs.training.noise import sample_noise as sample_noise
    from dsrs.training.recipes import RECIPES as RECIPES
    from dsrs.training.recipes import recipe_named as recipe_named
    from dsrs.training.recipes import recipe_options as recipe_options
    from dsrs.training.recipes.base import Batch as Batch
    from dsrs.training.recipes.base import Recipe as Recipe
    from dsrs.training.recipes.base import setting as setting
    from dsrs.training.recipes.consistency import Consistency as Consistency
    from dsrs.training.recipes.consistency import disagreement as disagreement
    from dsrs.training.recipes.gaussian import GaussianAugmentation as GaussianAugmentation
    from dsrs.training.recipes.smoothmix import SmoothMix as SmoothMix
    from dsrs.training.recipes.smoothmix import mixed_loss as mixed_loss
    from dsrs.training.recipes.smoothmix import mixed_targets as mixed_targets
    from dsrs.training.schedules import one_cycle as one_cycle
    from dsrs.training.schedules import ramp as ramp
    from dsrs.training.schedules import step_decay as step_decay
    from dsrs.training.schedules import warm_up_k as warm_up_k
    from dsrs.training.session import train_model as train_model
    from dsrs.training.settings import TrainingSettings as TrainingSettings
else:
    __all__, __getattr__, __dir__ = exports(
        __name__,
        {
            "answers": ("noisy_cross_entropy", "noisy_logits", "smoothed_cross_entropy"),
            "batches": ("check_labelled_images",),
            "checkpoint": ("Watcher", "seed_epoch"),
            "defaults": ("DATA", "recommended_settings", "similar_data", "with_recipe"),
            "denoiser": ("check_images", "train_denoiser"),
            "denoiser_settings": ("DenoiserSettings",),
            "devices": ("Machine",),
            "export": ("save_safetensors",),
            "folder": ("CHECKPOINT_NAME",),
            "held_out_inputs": ("held_out", "trained_on"),
            "loop": ("Trained", "train"),
            "models": ("SavedModel", "fresh_model", "given_model", "saved_model", "trained_model"),
            "noise": ("NoiseLaw", "sample_noise"),
            "recipes": ("RECIPES", "recipe_named", "recipe_options"),
            "recipes.base": ("Batch", "Recipe", "setting"),
            "recipes.consistency": ("Consistency", "disagreement"),
            "recipes.gaussian": ("GaussianAugmentation",),
            "recipes.smoothmix": ("SmoothMix", "mixed_loss", "mixed_targets"),
            "schedules": ("one_cycle", "ramp", "step_decay", "warm_up_k"),
            "session": ("train_model",),
            "settings": ("TrainingSettings",),
        },
    )
