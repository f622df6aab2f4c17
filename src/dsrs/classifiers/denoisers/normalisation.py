"""The normalisation (x - shift) / scale, where it stands between a denoiser and a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.denoisers.base import Denoiser, Rows
from dsrs.classifiers.onnx_graph import GraphBuilder
from dsrs.classifiers.tensor_passes import imported_torch


class Normalisation(Denoiser):
    """The denoiser (x - shift) / scale, by channel."""

    def __init__(
        self,
        input_shape: tuple[int, ...],
        shift: NDArray[np.float32],
        scale: NDArray[np.float32],
    ) -> None:
        self._shape, self._shift, self._scale = input_shape, shift, scale
        self.name = "normalised"
        self.fingerprint = f"{shift.ravel().tolist()} {scale.ravel().tolist()}"

    def rows(self, batch: Rows) -> Rows:
        return (batch - self._shift) / self._scale

    def module(self) -> Any:
        imported_torch()
        from dsrs.networks import Normalize

        module: Any = Normalize(self._shift.ravel().tolist(), self._scale.ravel().tolist())
        return module.eval()

    def graph(self) -> Any:
        builder = GraphBuilder(self._shape)
        centred = builder.add("Sub", "rows", builder.constant(self._shift))
        return builder.model(builder.add("Div", centred, builder.constant(self._scale)))
