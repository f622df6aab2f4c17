"""Prediction sets from one noisy pass: classes that hold the true one although inputs are moved.

The promise is kept on average over inputs, calibration sets and noise, not for each single input.

    plan = SetPlan(law, radius=0.5, coverage=0.9)
    sets = calibrate(classifier, dataset, plan)
    SetPredictor(classifier, sets).predict(x).classes
"""

from dsrs.conformal.calibration import SetPlan, calibrate
from dsrs.conformal.curve import CurvePoint, size_curve
from dsrs.conformal.evaluation import Evaluation, evaluate_sets
from dsrs.conformal.level import ShiftProof, calibration_level
from dsrs.conformal.prediction import PredictionSet, SetPredictor, compare_sets
from dsrs.conformal.scores import SCORES, Score, register
from dsrs.conformal.sets import MARGINAL, Sets
from dsrs.conformal.tuning import SetForecast, tune_sets

__all__ = [
    "MARGINAL",
    "SCORES",
    "CurvePoint",
    "Evaluation",
    "PredictionSet",
    "Score",
    "SetForecast",
    "SetPlan",
    "SetPredictor",
    "Sets",
    "ShiftProof",
    "calibrate",
    "calibration_level",
    "compare_sets",
    "evaluate_sets",
    "register",
    "size_curve",
    "tune_sets",
]
