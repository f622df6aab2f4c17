"""Which noise and which method for a model: every law of a grid, forecast from one landscape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.tuning.search import Forecast as Forecast
    from dsrs.tuning.search import Objective as Objective
    from dsrs.tuning.search import Tuned as Tuned
    from dsrs.tuning.search import shapes as shapes
    from dsrs.tuning.search import tune as tune
else:
    __all__, __getattr__, __dir__ = exports(__name__)
