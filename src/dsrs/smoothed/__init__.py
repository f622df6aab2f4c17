"""The smoothed classifier for everyday use: predict and certify, one input or many."""

from dsrs.smoothed.certified_run import CertifiedRun
from dsrs.smoothed.classifier import SmoothedClassifier, load_demo, smooth
from dsrs.smoothed.prediction import PREDICTION, Prediction, plan_of_answer, told_apart

__all__ = [
    "PREDICTION",
    "CertifiedRun",
    "Prediction",
    "SmoothedClassifier",
    "load_demo",
    "plan_of_answer",
    "smooth",
    "told_apart",
]
