"""A small residual denoiser of images: it predicts the noise, and takes it away.

The first convolution halves the image and the last one gives four pixels for each place, so that
all layers work on a quarter of the places (as FFDNet does, Zhang et al. 2018); the noise is what
is learned, as in DnCNN (Zhang et al. 2017). There is no batch normalisation: each row is answered
by itself. The size of the noise is not told to the network, which learns from a range of sizes.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from dsrs.errors import InvalidInput
from dsrs.networks.layers import initialized


class ResidualDenoiser(nn.Module):
    """Images (n, channels, height, width) to images of the same shape, within their bounds."""

    def __init__(
        self,
        input_shape: tuple[int, ...],
        bounds: tuple[float, float],
        channels: int = 32,
        layers: int = 5,
    ) -> None:
        super().__init__()
        if len(input_shape) != 3 or min(input_shape[1:]) < 2:
            raise InvalidInput(
                "a denoiser is trained for images (channels, height, width) of at least 2x2 "
                f"pixels, got inputs of shape {input_shape}"
            )
        if layers < 2:
            raise InvalidInput(f"`layers` must be at least 2, got {layers}")
        self.input_shape, self.bounds, colours = input_shape, bounds, input_shape[0]
        self.odd = tuple(side % 2 for side in input_shape[1:])
        parts: list[nn.Module] = [nn.Conv2d(colours, channels, 4, 2, padding=1), nn.ReLU()]
        for _ in range(layers - 2):
            parts += [nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU()]
        last = nn.Conv2d(channels, 4 * colours, 3, padding=1)
        self.noise = nn.Sequential(*parts, last, nn.PixelShuffle(2))
        initialized(self)
        nn.init.zeros_(last.weight)  # an untrained one changes nothing but values out of bounds

    def forward(self, images: Tensor) -> Tensor:
        lower, upper = self.bounds
        unit = (images - lower) / (upper - lower)
        bottom, right = self.odd
        if bottom or right:
            unit = functional.pad(unit, (0, right, 0, bottom), mode="replicate")
        cleaned: Tensor = unit - self.noise(unit - 0.5)
        height, width = images.shape[2:]
        return cleaned[:, :, :height, :width].clamp(0, 1) * (upper - lower) + lower
