"""Classifiers from any framework, behind one small interface: one adapter a file."""

from dsrs.classifiers.adapters import Adapter, ModelOptions, by_suffix
from dsrs.classifiers.base import Classifier, checked_classes, checked_classifier
from dsrs.classifiers.callable import from_callable
from dsrs.classifiers.denoisers import Denoiser, denoiser_from
from dsrs.classifiers.ensemble import ensemble
from dsrs.classifiers.in_front import denoised
from dsrs.classifiers.loading import load_classifier, register
from dsrs.classifiers.onnx_file import from_onnx
from dsrs.classifiers.scaled import scaled
from dsrs.classifiers.scaling import Scaling
from dsrs.classifiers.sklearn_estimator import from_sklearn
from dsrs.classifiers.torch_file import from_torch_file
from dsrs.classifiers.torch_module import from_torch

__all__ = [
    "Adapter",
    "Classifier",
    "Denoiser",
    "ModelOptions",
    "Scaling",
    "by_suffix",
    "checked_classes",
    "checked_classifier",
    "denoised",
    "denoiser_from",
    "ensemble",
    "from_callable",
    "from_onnx",
    "from_sklearn",
    "from_torch",
    "from_torch_file",
    "load_classifier",
    "register",
    "scaled",
]
