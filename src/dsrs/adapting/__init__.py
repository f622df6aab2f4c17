"""Make a model that was never trained under noise bear it, and say what helped."""

from dsrs.adapting.adapting import Adapted, adapt, without_shared
from dsrs.adapting.judging import Budget, Candidate, Learned, borne_size
from dsrs.adapting.learning import DEFAULT_WAYS, LEARNING_WAYS, WAYS, Learning

__all__ = [
    "DEFAULT_WAYS",
    "LEARNING_WAYS",
    "WAYS",
    "Adapted",
    "Budget",
    "Candidate",
    "Learned",
    "Learning",
    "adapt",
    "borne_size",
    "without_shared",
]
