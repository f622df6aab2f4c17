"""What a denoiser is: one function of rows, in the forms in which models are run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.onnx_graph import in_series

Rows = NDArray[np.float32]


class Denoiser(ABC):
    """A function from batches to batches of the same shape, each row by itself.

    Attributes:
        name: what descriptions call it.
        fingerprint: what tells it from others, with everything that its answers depend on.
    """

    name: str
    fingerprint: str

    @abstractmethod
    def rows(self, batch: Rows) -> Rows:
        """The denoised batch, in NumPy."""

    @abstractmethod
    def module(self) -> Any | None:
        """Return the denoiser as a `torch.nn.Module` in evaluation mode, or None."""

    @abstractmethod
    def graph(self) -> Any:
        """Return the denoiser as an ONNX model (`onnx.ModelProto`) of one input and one output."""


class Chain(Denoiser):
    """Several, one after the other."""

    def __init__(self, parts: Sequence[Denoiser]) -> None:
        self._parts = tuple(parts)
        self.name = ", ".join(part.name for part in parts)
        self.fingerprint = " ".join(part.fingerprint for part in parts)

    def rows(self, batch: Rows) -> Rows:
        for part in self._parts:
            batch = part.rows(batch)
        return batch

    def module(self) -> Any | None:
        modules = [module for part in self._parts if (module := part.module()) is not None]
        if len(modules) < len(self._parts):
            return None
        import torch

        return torch.nn.Sequential(*modules).eval()

    def graph(self) -> Any:
        model = self._parts[0].graph()
        for part in self._parts[1:]:
            model = in_series(model, part.graph())
        return model
