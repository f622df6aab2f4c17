"""The smoothed classifier for everyday use: predict and certify, one input or many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.smoothed.certified_run import CertifiedRun as CertifiedRun
    from dsrs.smoothed.classifier import SmoothedClassifier as SmoothedClassifier
    from dsrs.smoothed.classifier import load_demo as load_demo
    from dsrs.smoothed.classifier import smooth as smooth
    from dsrs.smoothed.prediction import PREDICTION as PREDICTION
    from dsrs.smoothed.prediction import Prediction as Prediction
    from dsrs.smoothed.prediction import plan_of_answer as plan_of_answer
    from dsrs.smoothed.prediction import told_apart as told_apart
else:
    __all__, __getattr__, __dir__ = exports(__name__)
