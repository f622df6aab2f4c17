"""The smoothed classifier for everyday use: predict and certify, one input or many."""

from dsrs.smoothed.answering import plan_of_answer
from dsrs.smoothed.asking import PREDICTION
from dsrs.smoothed.certified_run import CertifiedRun
from dsrs.smoothed.classifier import SmoothedClassifier
from dsrs.smoothed.prediction import Prediction, told_apart
from dsrs.smoothed.smoothing import load_demo, smooth

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
