"""Clipping: values that noise moved out of the bounds of the data go back to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsrs.classifiers.denoisers.base import Denoiser, Rows
from dsrs.classifiers.onnx_graph import GraphBuilder
from dsrs.classifiers.tensor_passes import imported_torch


class Clip(Denoiser):
    """The denoiser min(max(x, lower), upper)."""

    name = "clip"

    def __init__(self, input_shape: tuple[int, ...], bounds: tuple[float, float]) -> None:
        self._shape = input_shape
        self._lower, self._upper = (np.float32(bound) for bound in bounds)
        self.fingerprint = f"clip:{bounds[0]:g},{bounds[1]:g}"

    def rows(self, batch: Rows) -> Rows:
        return np.clip(batch, self._lower, self._upper)

    def module(self) -> Any:
        return imported_torch().nn.Hardtanh(float(self._lower), float(self._upper)).eval()

    def graph(self) -> Any:
        builder = GraphBuilder(self._shape)
        return builder.model(clipped(builder, "rows", self._lower, self._upper))


def clipped(builder: GraphBuilder, rows: str, lower: np.float32, upper: np.float32) -> str:
    """Add the operators that clip `rows`; their result's name."""
    above = builder.add("Max", rows, builder.constant(lower))
    return builder.add("Min", above, builder.constant(upper))
