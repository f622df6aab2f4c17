"""A denoiser from an ONNX file: a network from images to images, such as `dsrs adapt` trains."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np

from dsrs.classifiers.base import UNIT_BOUNDS, checked_batch
from dsrs.classifiers.callable import Forward, probe_batch, refuse_other_answers
from dsrs.classifiers.denoisers.base import Denoiser, Rows
from dsrs.classifiers.onnx_file import onnx_function
from dsrs.classifiers.onnx_graph import model_of_file
from dsrs.classifiers.weights import read_weights, with_weights
from dsrs.errors import ClassifierError, InvalidInput, MissingExtra

LOG = logging.getLogger(__name__)
# What `dsrs adapt` keeps beside the ONNX file of a denoiser that it trained.
DENOISER_WEIGHTS, DENOISER_CARD = "denoiser.safetensors", "denoiser.json"


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
        """The same network in PyTorch where its weights are kept beside the file, or None."""
        try:
            card = json.loads((self._path.parent / DENOISER_CARD).read_text("utf-8"))
            shape, bounds = tuple(card["input_shape"]), tuple(card["bounds"])
            return self._checked_module(shape, bounds, card["settings"]["channels"])
        except (OSError, ValueError, RecursionError, TypeError, KeyError, ImportError) as error:
            LOG.info("%s has no weights for PyTorch beside it: %s", self.name, error)
        except (ClassifierError, InvalidInput, MissingExtra) as error:
            LOG.warning("%s is run as ONNX alone: %s", self.name, error)
        return None

    def _checked_module(
        self, shape: tuple[int, ...], bounds: tuple[float, float], channels: int
    ) -> Any:
        """The network with the weights beside the file, if it answers as the file does."""
        import torch

        from dsrs.networks import ResidualDenoiser

        tensors = read_weights(self._path.parent / DENOISER_WEIGHTS)
        network = ResidualDenoiser(shape, bounds, channels)
        module = with_weights(network, tensors, f"the weights beside {self.name}")

        def answers(batch: Rows) -> Rows:
            with torch.no_grad():
                return np.asarray(module(torch.from_numpy(batch)))

        complaint = f"{DENOISER_WEIGHTS} answers differently"
        refuse_other_answers(answers, self.rows, probe_batch(shape, bounds), complaint)
        return module

    def graph(self) -> Any:
        return model_of_file(self._path)
