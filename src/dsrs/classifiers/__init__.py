"""Classifiers from any framework, behind one small interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.classifiers.adapters import RESAMPLES as RESAMPLES
    from dsrs.classifiers.adapters import Adapter as Adapter
    from dsrs.classifiers.adapters import ModelOptions as ModelOptions
    from dsrs.classifiers.adapters import Preparation as Preparation
    from dsrs.classifiers.adapters import by_suffix as by_suffix
    from dsrs.classifiers.base import UNIT_BOUNDS as UNIT_BOUNDS
    from dsrs.classifiers.base import Classifier as Classifier
    from dsrs.classifiers.base import ScoreGradient as ScoreGradient
    from dsrs.classifiers.base import Share as Share
    from dsrs.classifiers.base import answer_of as answer_of
    from dsrs.classifiers.base import checked_bounds as checked_bounds
    from dsrs.classifiers.base import checked_classes as checked_classes
    from dsrs.classifiers.base import checked_classifier as checked_classifier
    from dsrs.classifiers.base import refuse_unless_function as refuse_unless_function
    from dsrs.classifiers.batch_statistics import check_statistics_exist as check_statistics_exist
    from dsrs.classifiers.batch_statistics import with_normalisations as with_normalisations
    from dsrs.classifiers.batch_statistics import with_statistics as with_statistics
    from dsrs.classifiers.callable import CallableClassifier as CallableClassifier
    from dsrs.classifiers.callable import TorchWeights as TorchWeights
    from dsrs.classifiers.callable import denoised as denoised
    from dsrs.classifiers.callable import from_callable as from_callable
    from dsrs.classifiers.callable import in_fixed_batches as in_fixed_batches
    from dsrs.classifiers.callable import varied_batch as varied_batch
    from dsrs.classifiers.composed import devices_of as devices_of
    from dsrs.classifiers.composed import ensemble as ensemble
    from dsrs.classifiers.composed import normalised as normalised
    from dsrs.classifiers.composed import on_several as on_several
    from dsrs.classifiers.composed import scaled as scaled
    from dsrs.classifiers.denoisers import Chain as Chain
    from dsrs.classifiers.denoisers import Clip as Clip
    from dsrs.classifiers.denoisers import Denoiser as Denoiser
    from dsrs.classifiers.denoisers import Normalisation as Normalisation
    from dsrs.classifiers.device_votes import DeviceVotes as DeviceVotes
    from dsrs.classifiers.device_votes import record_pass as record_pass
    from dsrs.classifiers.device_votes import switched as switched
    from dsrs.classifiers.loading import ADAPTERS as ADAPTERS
    from dsrs.classifiers.loading import DENOISER_CARD as DENOISER_CARD
    from dsrs.classifiers.loading import DENOISER_WEIGHTS as DENOISER_WEIGHTS
    from dsrs.classifiers.loading import DENOISERS as DENOISERS
    from dsrs.classifiers.loading import MODEL_CARD as MODEL_CARD
    from dsrs.classifiers.loading import MODEL_NAME as MODEL_NAME
    from dsrs.classifiers.loading import MODEL_WEIGHTS as MODEL_WEIGHTS
    from dsrs.classifiers.loading import classifier_of as classifier_of
    from dsrs.classifiers.loading import denoiser_from as denoiser_from
    from dsrs.classifiers.loading import load_classifier as load_classifier
    from dsrs.classifiers.loading import preparation_of as preparation_of
    from dsrs.classifiers.loading import register as register
    from dsrs.classifiers.loading import register_denoiser as register_denoiser
    from dsrs.classifiers.loading import runs_code as runs_code
    from dsrs.classifiers.onnx_file import from_onnx as from_onnx
    from dsrs.classifiers.onnx_graph import GraphBuilder as GraphBuilder
    from dsrs.classifiers.onnx_graph import bytes_of as bytes_of
    from dsrs.classifiers.onnx_session import answers_of as answers_of
    from dsrs.classifiers.onnx_session import available_providers as available_providers
    from dsrs.classifiers.onnx_session import provider_for as provider_for
    from dsrs.classifiers.python_object import from_sklearn as from_sklearn
    from dsrs.classifiers.python_object import imported_home as imported_home
    from dsrs.classifiers.python_object import object_named as object_named
    from dsrs.classifiers.scaling import SCALING_KINDS as SCALING_KINDS
    from dsrs.classifiers.scaling import Scaling as Scaling
    from dsrs.classifiers.tensor_passes import MODEL_PRECISIONS as MODEL_PRECISIONS
    from dsrs.classifiers.tensor_passes import Precision as Precision
    from dsrs.classifiers.tensor_passes import Prepared as Prepared
    from dsrs.classifiers.tensor_passes import imported_torch as imported_torch
    from dsrs.classifiers.tensor_passes import is_apart as is_apart
    from dsrs.classifiers.tensor_passes import refuse_other_precision as refuse_other_precision
    from dsrs.classifiers.torch_file import from_torch_file as from_torch_file
    from dsrs.classifiers.torch_module import exported_to_onnx as exported_to_onnx
    from dsrs.classifiers.torch_module import fingerprint_of_module as fingerprint_of_module
    from dsrs.classifiers.torch_module import from_torch as from_torch
    from dsrs.classifiers.torch_module import onnx_model as onnx_model
    from dsrs.classifiers.weights import read_weights as read_weights
    from dsrs.classifiers.weights import safe_load as safe_load
    from dsrs.classifiers.weights import with_weights as with_weights
else:
    __all__, __getattr__, __dir__ = exports(__name__)
