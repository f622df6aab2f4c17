"""Prediction sets from one noisy pass: classes that hold the true one although inputs are moved.

The promise is kept on average over inputs, calibration sets and noise, not for each single input.

    plan = SetPlan(law, radius=0.5, coverage=0.9)
    sets = calibrate(classifier, dataset, plan)
    SetPredictor(classifier, sets).predict(x).classes
"""

from dsrs.conformal.calibration import SetPlan, at_radius, calibrate
from dsrs.conformal.curve import CurvePoint, size_curve
from dsrs.conformal.evaluation import Evaluation, SetExample, ShiftOutcome, evaluate_sets
from dsrs.conformal.level import (
    ShiftProof,
    calibration_level,
    coverage_of_one,
    level_of,
    overlap,
    shift_proof,
)
from dsrs.conformal.prediction import (
    PredictionSet,
    SetPredictor,
    compare_sets,
    facts_of_sets,
    set_of,
)
from dsrs.conformal.queries import Query
from dsrs.conformal.rank import fewest_inputs, rank_for, rank_on_average, rank_with_confidence
from dsrs.conformal.scores import (
    SCORES,
    Score,
    kind_of_outputs,
    log_probabilities,
    register,
    score_named,
)
from dsrs.conformal.scores_again import retake_scores
from dsrs.conformal.sets import MARGINAL, Sets, flaw_of_sets, threshold_of
from dsrs.conformal.shifts import SHIFT_KINDS, Mover
from dsrs.conformal.tuning import TUNING_SEED, SetForecast, tune_sets

__all__ = [
    "MARGINAL",
    "SCORES",
    "SHIFT_KINDS",
    "TUNING_SEED",
    "CurvePoint",
    "Evaluation",
    "Mover",
    "PredictionSet",
    "Query",
    "Score",
    "SetExample",
    "SetForecast",
    "SetPlan",
    "SetPredictor",
    "Sets",
    "ShiftOutcome",
    "ShiftProof",
    "at_radius",
    "calibrate",
    "calibration_level",
    "compare_sets",
    "coverage_of_one",
    "evaluate_sets",
    "facts_of_sets",
    "fewest_inputs",
    "flaw_of_sets",
    "kind_of_outputs",
    "level_of",
    "log_probabilities",
    "overlap",
    "rank_for",
    "rank_on_average",
    "rank_with_confidence",
    "register",
    "retake_scores",
    "score_named",
    "set_of",
    "shift_proof",
    "size_curve",
    "threshold_of",
    "tune_sets",
]
