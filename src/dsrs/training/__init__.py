"""Training of base classifiers for smoothing (extra `train`)."""

from dsrs.training.hyperparameters import paper_settings
from dsrs.training.session import train_model
from dsrs.training.settings import TrainingSettings

__all__ = ["TrainingSettings", "paper_settings", "train_model"]
