"""The denoiser `BlockCosine` in PyTorch: it runs where the model does, and gradients pass through.

A file of its own, since its class needs PyTorch when it is defined.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from dsrs.classifiers.dct_blocks import (
    COVER,
    DCT_STRIDE,
    DCT_VERSION,
    NOISE_SIZE_CUT,
    NOISE_SIZE_ROUNDS,
    SHRINKAGE,
    SMALLEST_NOISE_SIZE,
    Blocks,
    mean_below,
)


class BlockCosineModule(nn.Module):
    """As `BlockCosine`, on tensors (n, channels, height, width)."""

    def __init__(self, blocks: Blocks, bounds: tuple[float, float], share: float = 1.0) -> None:
        super().__init__()
        self.register_buffer("filters", torch.from_numpy(blocks.filters.copy()))
        self.register_buffer("colours", torch.from_numpy(blocks.colours.copy()))
        self.blocks, self.bounds, self.share = blocks, bounds, share

    def extra_repr(self) -> str:
        """The settings, for the printed structure that fingerprints read."""
        mild = "" if self.share == 1 else f", share={self.share}"
        return f"version={DCT_VERSION}, bounds={self.bounds}{mild}"

    def forward(self, images: Tensor) -> Tensor:
        filters, colours = self.get_buffer("filters"), self.get_buffer("colours")[:, :, None, None]
        (top, bottom), (left, right) = self.blocks.padding
        mixed = functional.conv2d(images, colours)
        padded = functional.pad(mixed, (left, right, top, bottom), mode="reflect")
        coefficients = functional.conv2d(
            padded.flatten(0, 1).unsqueeze(1), filters, stride=DCT_STRIDE
        )
        size = self._size(coefficients, images.shape[1])
        energy = (
            functional.avg_pool2d(coefficients * coefficients, 3, 1, 1, count_include_pad=False)
            + SMALLEST_NOISE_SIZE
        )
        gain = functional.relu(1 - SHRINKAGE * size * size / energy)
        kept = coefficients * (1 - self.share + self.share * gain)
        total = functional.conv_transpose2d(kept, filters / COVER, stride=DCT_STRIDE)
        height, width = images.shape[2:]
        pixels = total[:, 0, top : top + height, left : left + width].reshape(images.shape)
        return functional.conv2d(pixels, colours.transpose(0, 1)).clamp(*self.bounds)

    def _size(self, coefficients: Tensor, channels: int) -> Tensor:
        """The size of the noise of each image, once for each of its colours."""
        high = coefficients[:, -self.blocks.highest :].abs()
        high = high.reshape(-1, channels, *high.shape[1:])
        every = (1, 2, 3, 4)
        size = high.mean(dim=every, keepdim=True) / float(mean_below(math.inf))
        for _ in range(NOISE_SIZE_ROUNDS):
            cut = torch.minimum(high, NOISE_SIZE_CUT * size)
            size = cut.mean(dim=every, keepdim=True) / float(mean_below(NOISE_SIZE_CUT))
        return size.expand(-1, channels, 1, 1, 1).flatten(0, 1)
