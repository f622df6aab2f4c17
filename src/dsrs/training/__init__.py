"""Training of base classifiers for smoothing (extra `train`).

Names are loaded when they are first used: the command line reads the recipes alone.
"""

from __future__ import annotations

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from typing import Any

    from dsrs.training.defaults import recommended_settings as recommended_settings
    from dsrs.training.devices import Machine as Machine
    from dsrs.training.models import saved_model as saved_model
    from dsrs.training.session import train_model as train_model
    from dsrs.training.settings import TrainingSettings as TrainingSettings

_HOMES = {
    "Machine": "devices",
    "TrainingSettings": "settings",
    "recommended_settings": "defaults",
    "saved_model": "models",
    "train_model": "session",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dsrs.training' has no attribute {name!r}")
    return getattr(_importlib.import_module(f"dsrs.training.{_HOMES[name]}"), name)
