"""Training of base classifiers for smoothing (extra `train`).

Names are loaded when they are first used: the command line reads the recipes alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.training.batches import NoiseLaw as NoiseLaw
    from dsrs.training.batches import check_labelled_images as check_labelled_images
    from dsrs.training.batches import noisy_cross_entropy as noisy_cross_entropy
    from dsrs.training.batches import noisy_logits as noisy_logits
    from dsrs.training.batches import sample_noise as sample_noise
    from dsrs.training.batches import smoothed_cross_entropy as smoothed_cross_entropy
    from dsrs.training.card import save_safetensors as save_safetensors
    from dsrs.training.denoiser import check_images as check_images
    from dsrs.training.denoiser import train_denoiser as train_denoiser
    from dsrs.training.loop import Trained as Trained
    from dsrs.training.loop import Watcher as Watcher
    from dsrs.training.loop import seed_epoch as seed_epoch
    from dsrs.training.loop import train as train
    from dsrs.training.models import SavedModel as SavedModel
    from dsrs.training.models import fresh_model as fresh_model
    from dsrs.training.models import given_model as given_model
    from dsrs.training.models import saved_model as saved_model
    from dsrs.training.models import trained_model as trained_model
    from dsrs.training.recipes import RECIPES as RECIPES
    from dsrs.training.recipes import Batch as Batch
    from dsrs.training.recipes import Consistency as Consistency
    from dsrs.training.recipes import GaussianAugmentation as GaussianAugmentation
    from dsrs.training.recipes import Recipe as Recipe
    from dsrs.training.recipes import SmoothMix as SmoothMix
    from dsrs.training.recipes import disagreement as disagreement
    from dsrs.training.recipes import mixed_loss as mixed_loss
    from dsrs.training.recipes import mixed_targets as mixed_targets
    from dsrs.training.recipes import recipe_named as recipe_named
    from dsrs.training.recipes import recipe_options as recipe_options
    from dsrs.training.recipes import setting as setting
    from dsrs.training.session import Machine as Machine
    from dsrs.training.session import train_model as train_model
    from dsrs.training.settings import CHECKPOINT_NAME as CHECKPOINT_NAME
    from dsrs.training.settings import DATA as DATA
    from dsrs.training.settings import DenoiserSettings as DenoiserSettings
    from dsrs.training.settings import TrainingSettings as TrainingSettings
    from dsrs.training.settings import held_out as held_out
    from dsrs.training.settings import one_cycle as one_cycle
    from dsrs.training.settings import ramp as ramp
    from dsrs.training.settings import recommended_settings as recommended_settings
    from dsrs.training.settings import similar_data as similar_data
    from dsrs.training.settings import step_decay as step_decay
    from dsrs.training.settings import trained_on as trained_on
    from dsrs.training.settings import warm_up_k as warm_up_k
    from dsrs.training.settings import with_recipe as with_recipe
else:
    __all__, __getattr__, __dir__ = exports(__name__)
