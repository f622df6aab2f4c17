"""What may come between the noise and a model: clipping, a denoiser, a normalisation.

Whatever is applied to the noisy input alone, row by row, and is fixed before the votes are taken,
is a part of the classifier: a certificate of the whole is as sound as one of the model
(docs/math.md).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dsrs.classifiers.dct_blocks import (
    COVER,
    DCT_BLOCK,
    DCT_STRIDE,
    DCT_VERSION,
    MILD_SHARE,
    NOISE_SIZE_CUT,
    NOISE_SIZE_ROUNDS,
    SHRINKAGE,
    SMALLEST_NOISE_SIZE,
    Blocks,
    mean_below,
)
from dsrs.classifiers.onnx_graph import GraphBuilder, in_series
from dsrs.classifiers.tensor_passes import imported_torch
from dsrs.errors import InvalidInput

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
    """Several denoisers, one after the other."""

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


# ---- Clipping and normalisation


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


# ---- Shrinkage of block cosine transforms (dct_blocks.py), which needs no training


class BlockCosine(Denoiser):
    """The denoiser of images (channels, height, width) of at least 8x8 pixels."""

    name = "dct"
    share = 1.0  # of what shrinkage takes away of a coefficient, that is taken away

    def __init__(self, input_shape: tuple[int, ...], bounds: tuple[float, float]) -> None:
        if len(input_shape) != 3 or min(input_shape[1:]) < DCT_BLOCK:
            raise InvalidInput(
                f"the denoiser `{self.name}` is for images (channels, height, width) of at least "
                f"{DCT_BLOCK}x{DCT_BLOCK} pixels, got inputs of shape {input_shape}"
            )
        self._shape = input_shape
        self._lower, self._upper = (np.float32(bound) for bound in bounds)
        self._blocks = Blocks.of(input_shape)
        self.fingerprint = f"{self.name}-{DCT_VERSION}:{bounds[0]:g},{bounds[1]:g}"

    def rows(self, batch: Rows) -> Rows:
        blocks, (_, height, width) = self._blocks, self._shape
        colours = np.einsum("kc,ncxy->nkxy", blocks.colours, batch)
        padded = np.pad(colours, ((0, 0), (0, 0), *blocks.padding), mode="reflect")
        windows = sliding_window_view(padded, (DCT_BLOCK, DCT_BLOCK), (2, 3))[
            :, :, ::DCT_STRIDE, ::DCT_STRIDE
        ]
        coefficients = np.einsum("ncijxy,fxy->ncfij", windows, blocks.filters[:, 0], optimize=True)
        high = np.abs(coefficients[:, :, -blocks.highest :])
        every = (1, 2, 3, 4)
        size = high.mean(axis=every, keepdims=True) / mean_below(math.inf)
        for _ in range(NOISE_SIZE_ROUNDS):
            cut = np.minimum(high, np.float32(NOISE_SIZE_CUT) * size)
            size = cut.mean(axis=every, keepdims=True) / mean_below(NOISE_SIZE_CUT)
        energy = _neighbours_mean(coefficients * coefficients) + np.float32(SMALLEST_NOISE_SIZE)
        gain = np.maximum(1 - np.float32(SHRINKAGE) * size * size / energy, 0)
        kept = coefficients * (np.float32(1 - self.share) + np.float32(self.share) * gain)
        patches = np.einsum("ncfij,fxy->ncijxy", kept, blocks.filters[:, 0], optimize=True)
        total = np.zeros_like(padded)
        for i, j in np.ndindex(patches.shape[2:4]):
            top, left = DCT_STRIDE * i, DCT_STRIDE * j
            total[:, :, top : top + DCT_BLOCK, left : left + DCT_BLOCK] += patches[:, :, i, j]
        pixels = total[
            :, :, DCT_STRIDE : DCT_STRIDE + height, DCT_STRIDE : DCT_STRIDE + width
        ] / np.float32(COVER)
        image = np.einsum("kc,nkxy->ncxy", blocks.colours, pixels)
        return np.asarray(np.clip(image, self._lower, self._upper), np.float32)

    def module(self) -> Any:
        imported_torch()
        from dsrs.classifiers.dct_module import BlockCosineModule

        bounds = float(self._lower), float(self._upper)
        return BlockCosineModule(self._blocks, bounds, self.share).eval()

    def graph(self) -> Any:
        blocks, builder = self._blocks, GraphBuilder(self._shape)
        (top, bottom), (left, right) = blocks.padding
        channels, height, width = self._shape
        pads = builder.constant(np.array([0, 0, top, left, 0, 0, bottom, right], np.int64))
        colours = builder.add("Conv", "rows", builder.constant(blocks.colours[:, :, None, None]))
        padded = builder.add("Pad", colours, pads, mode="reflect")
        apart = builder.reshape(padded, 1, height + top + bottom, width + left + right)
        filters, steps = builder.constant(blocks.filters), [DCT_STRIDE, DCT_STRIDE]
        coefficients = builder.add("Conv", apart, filters, strides=steps)
        size = self._size(builder, coefficients)
        energy = builder.add(
            "AveragePool",
            builder.add("Mul", coefficients, coefficients),
            kernel_shape=[3, 3],
            pads=[1, 1, 1, 1],
            count_include_pad=0,
        )
        noise = builder.add("Mul", builder.add("Mul", size, size), builder.scalar(SHRINKAGE))
        share = builder.add(
            "Div", noise, builder.add("Add", energy, builder.scalar(SMALLEST_NOISE_SIZE))
        )
        gain = builder.add("Relu", builder.add("Sub", builder.scalar(1.0), share))
        if self.share < 1:
            part = builder.add("Mul", gain, builder.scalar(self.share))
            gain = builder.add("Add", part, builder.scalar(1 - self.share))
        kept = builder.add("Mul", coefficients, gain)
        back = builder.constant(blocks.filters / np.float32(COVER))
        crop = [top, left, bottom, right]
        pixels = builder.add("ConvTranspose", kept, back, strides=steps, pads=crop)
        together = builder.reshape(pixels, channels, height, width)
        image = builder.add("Conv", together, builder.constant(blocks.colours.T[:, :, None, None]))
        return builder.model(clipped(builder, image, self._lower, self._upper))

    def _size(self, builder: GraphBuilder, coefficients: str) -> str:
        """Add the operators that estimate the size of the noise, the same for all colours."""
        blocks, channels = self._blocks, self._shape[0]
        ends = (len(blocks.filters) - blocks.highest, len(blocks.filters), 1)
        start, stop, axis = (builder.constant(np.array([end], np.int64)) for end in ends)
        high = builder.add("Abs", builder.add("Slice", coefficients, start, stop, axis))
        rows, columns = blocks.count
        high = builder.reshape(high, channels * blocks.highest, rows, columns)
        share, size = np.float32(1 / (channels * blocks.highest)), ""
        for cut in (math.inf, *[NOISE_SIZE_CUT] * NOISE_SIZE_ROUNDS):
            seen = high
            if size:
                seen = builder.add("Min", high, builder.add("Mul", size, builder.scalar(cut)))
            weights = np.full((1, channels * blocks.highest, 1, 1), share / mean_below(cut))
            mean = builder.add("GlobalAveragePool", seen)
            size = builder.add("Conv", mean, builder.constant(weights.astype(np.float32)))
        # One size for each colour of each image, which are rows here.
        copies = builder.constant(np.ones((channels, 1, 1, 1), np.float32))
        return builder.reshape(builder.add("Conv", size, copies), 1, 1, 1)


class MildBlockCosine(BlockCosine):
    """The denoiser that leaves some of the texture, and of the noise."""

    name = "dct-mild"
    share = MILD_SHARE


def _neighbours_mean(energy: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean over each block and its neighbours, as far as there are any."""
    inside = np.ones(energy.shape[-2:], np.float32)
    total, count = (
        sliding_window_view(
            np.pad(values, [*[(0, 0)] * (values.ndim - 2), (1, 1), (1, 1)]), (3, 3), (-2, -1)
        ).sum(axis=(-2, -1), dtype=np.float32)
        for values in (energy, inside)
    )
    return np.asarray(total / count)
