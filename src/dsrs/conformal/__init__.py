"""Prediction sets from one noisy pass: classes that hold the true one although inputs are moved.

The promise is kept on average over inputs, calibration sets and noise, not for each single input.

    plan = SetPlan(law, radius=0.5, coverage=0.9)
    sets = calibrate(classifier, dataset, plan)
    SetPredictor(classifier, sets).predict(x).classes
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.conformal.calibration import TUNING_SEED as TUNING_SEED
    from dsrs.conformal.calibration import SetForecast as SetForecast
    from dsrs.conformal.calibration import SetPlan as SetPlan
    from dsrs.conformal.calibration import at_radius as at_radius
    from dsrs.conformal.calibration import calibrate as calibrate
    from dsrs.conformal.calibration import tune_sets as tune_sets
    from dsrs.conformal.evaluation import SHIFT_KINDS as SHIFT_KINDS
    from dsrs.conformal.evaluation import CurvePoint as CurvePoint
    from dsrs.conformal.evaluation import Evaluation as Evaluation
    from dsrs.conformal.evaluation import Mover as Mover
    from dsrs.conformal.evaluation import SetExample as SetExample
    from dsrs.conformal.evaluation import ShiftOutcome as ShiftOutcome
    from dsrs.conformal.evaluation import evaluate_sets as evaluate_sets
    from dsrs.conformal.evaluation import retake_scores as retake_scores
    from dsrs.conformal.evaluation import size_curve as size_curve
    from dsrs.conformal.level import ShiftProof as ShiftProof
    from dsrs.conformal.level import calibration_level as calibration_level
    from dsrs.conformal.level import coverage_of_one as coverage_of_one
    from dsrs.conformal.level import fewest_inputs as fewest_inputs
    from dsrs.conformal.level import level_of as level_of
    from dsrs.conformal.level import overlap as overlap
    from dsrs.conformal.level import rank_for as rank_for
    from dsrs.conformal.level import rank_on_average as rank_on_average
    from dsrs.conformal.level import rank_with_confidence as rank_with_confidence
    from dsrs.conformal.level import shift_proof as shift_proof
    from dsrs.conformal.scores import SCORES as SCORES
    from dsrs.conformal.scores import Query as Query
    from dsrs.conformal.scores import Score as Score
    from dsrs.conformal.scores import kind_of_outputs as kind_of_outputs
    from dsrs.conformal.scores import log_probabilities as log_probabilities
    from dsrs.conformal.scores import register as register
    from dsrs.conformal.scores import score_named as score_named
    from dsrs.conformal.sets import PredictionSet as PredictionSet
    from dsrs.conformal.sets import SetPredictor as SetPredictor
    from dsrs.conformal.sets import Sets as Sets
    from dsrs.conformal.sets import compare_sets as compare_sets
    from dsrs.conformal.sets import facts_of_sets as facts_of_sets
    from dsrs.conformal.sets import set_of as set_of
    from dsrs.conformal.sets import threshold_of as threshold_of
else:
    __all__, __getattr__, __dir__ = exports(__name__)
