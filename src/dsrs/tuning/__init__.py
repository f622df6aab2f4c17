"""Which noise and which method for a model: every law of a grid, forecast from one landscape."""

from dsrs.tuning.search import Forecast, Objective, Tuned, shapes, tune

__all__ = ["Forecast", "Objective", "Tuned", "shapes", "tune"]
