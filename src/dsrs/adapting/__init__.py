"""Make a model that was never trained under noise bear it, and say what helped."""

from dsrs.adapting.adapting import Adapted, adapt
from dsrs.adapting.judging import Budget, Candidate, Learned, borne_size
from dsrs.adapting.learning import LEARNING_WAYS, Learning
from dsrs.adapting.other_data import without_shared
from dsrs.adapting.ways import DEFAULT_WAYS, WAYS

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
