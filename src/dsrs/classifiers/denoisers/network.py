"""A denoiser from an ONNX file: a network from images to images, such as `dsrs adapt` trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dsrs.classifiers.base import UNIT_BOUNDS, checked_batch
from dsrs.classifiers.callable import Forward, probe_batch
from dsrs.classifiers.denoisers.base import Denoiser, Rows
from dsrs.classifiers.onnx_file import onnx_function
from dsrs.classifiers.onnx_graph import model_of_file
from dsrs.errors import ClassifierError


class NetworkDenoiser(Denoiser):
    """A network of one float32 input and one output of the same shape."""

    def __init__(self, path: Path, forward: Forward, fingerprint: str) -> None:
        self._path, self._forward = path, forward
        self.name = path.name
        self.fingerprint = f"denoiser:{fingerprint}"

    @classmethod
    def read(cls, path: Path, input_shape: tuple[int, ...]) -> NetworkDenoiser:
        """The denoiser of a file, tried once on inputs of this shape."""
        made = cls(path, *onnx_function(path, input_shape))
        made.rows(probe_batch(input_shape, UNIT_BOUNDS))
        return made

    def rows(self, batch: Rows) -> Rows:
        answer = self._forward(batch)
        if answer.shape != batch.shape or answer.dtype != np.float32:
            raise ClassifierError(
                f"the denoiser {self.name} must return float32 of the shape of its input, "
                f"{batch.shape}, got {answer.dtype} of shape {answer.shape}"
            )
        checked_batch(answer, batch.shape[1:])
        return np.asarray(answer)

    def module(self) -> Any | None:
        return None

    def graph(self) -> Any:
        return model_of_file(self._path)
