"""Folders that hold a model as model.onnx, as `dsrs adapt` and `dsrs train` write them."""

from __future__ import annotations

from pathlib import Path

from dsrs.classifiers.adapters import Adapter, ModelOptions
from dsrs.classifiers.base import Classifier
from dsrs.classifiers.onnx_file import ADAPTER as ONNX_FILE

MODEL_NAME = "model.onnx"


def _load(name: str, options: ModelOptions) -> Classifier:
    return ONNX_FILE.load(str(Path(name) / MODEL_NAME), options)


ADAPTER = Adapter(
    "a folder with model.onnx", lambda name: (Path(name) / MODEL_NAME).is_file(), _load
)
