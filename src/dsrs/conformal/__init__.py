"""Prediction sets from one noisy pass: classes that hold the true one although inputs are moved.

The promise is kept on average over inputs, calibration sets and noise, not for each single input.

    plan = SetPlan(law, radius=0.5, coverage=0.9)
    sets = calibrate(classifier, dataset, plan)
    SetPredictor(classifier, sets).predict(x).classes
"""

from dsrs.conformal.calibration import (
    TUNING_SEED,
    SetForecast,
    SetPlan,
    at_radius,
    calibrate,
    tune_sets,
)
from dsrs.conformal.evaluation import (
    SHIFT_KINDS,
    CurvePoint,
    Evaluation,
    Mover,
    SetExample,
    ShiftOutcome,
    evaluate_sets,
    retake_scores,
    size_curve,
)
from dsrs.conformal.level import (
    ShiftProof,
    calibration_level,
    coverage_of_one,
    fewest_inputs,
    level_of,
    overlap,
    rank_for,
    rank_on_average,
    rank_with_confidence,
    shift_proof,
)
from dsrs.conformal.scores import (
    SCORES,
    Query,
    Score,
    kind_of_outputs,
    log_probabilities,
    register,
    score_named,
)
from dsrs.conformal.sets import (
    PredictionSet,
    SetPredictor,
    Sets,
    compare_sets,
    facts_of_sets,
    set_of,
    threshold_of,
)

__all__ = [
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
