"""Classifiers from any framework, behind one small interface: one adapter a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.classifiers.adapters import Adapter as Adapter
    from dsrs.classifiers.adapters import ModelOptions as ModelOptions
    from dsrs.classifiers.adapters import by_suffix as by_suffix
    from dsrs.classifiers.answers import varied_batch as varied_batch
    from dsrs.classifiers.base import UNIT_BOUNDS as UNIT_BOUNDS
    from dsrs.classifiers.base import Classifier as Classifier
    from dsrs.classifiers.base import ScoreGradient as ScoreGradient
    from dsrs.classifiers.base import answer_of as answer_of
    from dsrs.classifiers.base import checked_bounds as checked_bounds
    from dsrs.classifiers.base import checked_classes as checked_classes
    from dsrs.classifiers.base import checked_classifier as checked_classifier
    from dsrs.classifiers.batch_statistics import check_statistics_exist as check_statistics_exist
    from dsrs.classifiers.batch_statistics import with_normalisations as with_normalisations
    from dsrs.classifiers.batch_statistics import with_statistics as with_statistics
    from dsrs.classifiers.callable import CallableClassifier as CallableClassifier
    from dsrs.classifiers.callable import TorchWeights as TorchWeights
    from dsrs.classifiers.callable import from_callable as from_callable
    from dsrs.classifiers.counting import Share as Share
    from dsrs.classifiers.denoisers.base import Chain as Chain
    from dsrs.classifiers.denoisers.base import Denoiser as Denoiser
    from dsrs.classifiers.denoisers.clip import Clip as Clip
    from dsrs.classifiers.denoisers.network import DENOISER_CARD as DENOISER_CARD
    from dsrs.classifiers.denoisers.network import DENOISER_WEIGHTS as DENOISER_WEIGHTS
    from dsrs.classifiers.denoisers.normalisation import Normalisation as Normalisation
    from dsrs.classifiers.denoisers.registry import DENOISERS as DENOISERS
    from dsrs.classifiers.denoisers.registry import denoiser_from as denoiser_from
    from dsrs.classifiers.denoisers.registry import register_denoiser as register_denoiser
    from dsrs.classifiers.device_votes import DeviceVotes as DeviceVotes
    from dsrs.classifiers.fixed_batch import in_fixed_batches as in_fixed_batches
    from dsrs.classifiers.function_check import refuse_unless_function as refuse_unless_function
    from dsrs.classifiers.in_front import denoised as denoised
    from dsrs.classifiers.layout import normalised as normalised
    from dsrs.classifiers.loading import ADAPTERS as ADAPTERS
    from dsrs.classifiers.loading import classifier_of as classifier_of
    from dsrs.classifiers.loading import load_classifier as load_classifier
    from dsrs.classifiers.loading import preparation_of as preparation_of
    from dsrs.classifiers.loading import register as register
    from dsrs.classifiers.loading import runs_code as runs_code
    from dsrs.classifiers.mean_scores import ensemble as ensemble
    from dsrs.classifiers.model_folder import MODEL_CARD as MODEL_CARD
    from dsrs.classifiers.model_folder import MODEL_NAME as MODEL_NAME
    from dsrs.classifiers.model_folder import MODEL_WEIGHTS as MODEL_WEIGHTS
    from dsrs.classifiers.onnx_device import available_providers as available_providers
    from dsrs.classifiers.onnx_device import provider_for as provider_for
    from dsrs.classifiers.onnx_file import from_onnx as from_onnx
    from dsrs.classifiers.onnx_graph import GraphBuilder as GraphBuilder
    from dsrs.classifiers.onnx_graph import bytes_of as bytes_of
    from dsrs.classifiers.onnx_session import answers_of as answers_of
    from dsrs.classifiers.overlap import record_pass as record_pass
    from dsrs.classifiers.overlap import switched as switched
    from dsrs.classifiers.precision import MODEL_PRECISIONS as MODEL_PRECISIONS
    from dsrs.classifiers.precision import Precision as Precision
    from dsrs.classifiers.precision import refuse_other_precision as refuse_other_precision
    from dsrs.classifiers.preparation import RESAMPLES as RESAMPLES
    from dsrs.classifiers.preparation import Preparation as Preparation
    from dsrs.classifiers.python_object import imported_home as imported_home
    from dsrs.classifiers.python_object import object_named as object_named
    from dsrs.classifiers.scaled_inputs import scaled as scaled
    from dsrs.classifiers.scaling import SCALING_KINDS as SCALING_KINDS
    from dsrs.classifiers.scaling import Scaling as Scaling
    from dsrs.classifiers.several_devices import devices_of as devices_of
    from dsrs.classifiers.several_devices import on_several as on_several
    from dsrs.classifiers.sklearn_estimator import from_sklearn as from_sklearn
    from dsrs.classifiers.tensor_passes import Prepared as Prepared
    from dsrs.classifiers.tensor_passes import imported_torch as imported_torch
    from dsrs.classifiers.tensor_passes import is_apart as is_apart
    from dsrs.classifiers.torch_file import from_torch_file as from_torch_file
    from dsrs.classifiers.torch_module import exported_to_onnx as exported_to_onnx
    from dsrs.classifiers.torch_module import fingerprint_of_module as fingerprint_of_module
    from dsrs.classifiers.torch_module import from_torch as from_torch
    from dsrs.classifiers.torch_module import onnx_model as onnx_model
    from dsrs.classifiers.weights import read_weights as read_weights
    from dsrs.classifiers.weights import safe_load as safe_load
    from dsrs.classifiers.weights import with_weights as with_weights
else:
    __all__, __getattr__, __dir__ = exports(
        __name__,
        {
            "adapters": ("Adapter", "ModelOptions", "by_suffix"),
            "answers": ("varied_batch",),
            "base": (
                "Classifier",
                "ScoreGradient",
                "UNIT_BOUNDS",
                "answer_of",
                "checked_bounds",
                "checked_classes",
                "checked_classifier",
            ),
            "batch_statistics": (
                "check_statistics_exist",
                "with_normalisations",
                "with_statistics",
            ),
            "callable": ("CallableClassifier", "TorchWeights", "from_callable"),
            "counting": ("Share",),
            "denoisers.base": ("Chain", "Denoiser"),
            "denoisers.clip": ("Clip",),
            "denoisers.network": ("DENOISER_CARD", "DENOISER_WEIGHTS"),
            "denoisers.normalisation": ("Normalisation",),
            "denoisers.registry": ("DENOISERS", "denoiser_from", "register_denoiser"),
            "device_votes": ("DeviceVotes",),
            "fixed_batch": ("in_fixed_batches",),
            "function_check": ("refuse_unless_function",),
            "in_front": ("denoised",),
            "layout": ("normalised",),
            "loading": (
                "ADAPTERS",
                "classifier_of",
                "load_classifier",
                "preparation_of",
                "register",
                "runs_code",
            ),
            "mean_scores": ("ensemble",),
            "model_folder": ("MODEL_CARD", "MODEL_NAME", "MODEL_WEIGHTS"),
            "onnx_device": ("available_providers", "provider_for"),
            "onnx_file": ("from_onnx",),
            "onnx_graph": ("GraphBuilder", "bytes_of"),
            "onnx_session": ("answers_of",),
            "overlap": ("record_pass", "switched"),
            "precision": ("MODEL_PRECISIONS", "Precision", "refuse_other_precision"),
            "preparation": ("Preparation", "RESAMPLES"),
            "python_object": ("imported_home", "object_named"),
            "scaled_inputs": ("scaled",),
            "scaling": ("SCALING_KINDS", "Scaling"),
            "several_devices": ("devices_of", "on_several"),
            "sklearn_estimator": ("from_sklearn",),
            "tensor_passes": ("Prepared", "imported_torch", "is_apart"),
            "torch_file": ("from_torch_file",),
            "torch_module": (
                "exported_to_onnx",
                "fingerprint_of_module",
                "from_torch",
                "onnx_model",
            ),
            "weights": ("read_weights", "safe_load", "with_weights"),
        },
    )
