"""A small residual denoiser of images: it predicts the noise, and takes it away.

All layers work on the halved image or on less (as in FFDNet, Zhang et al. 2018): blocks of
convolutions at a half, a quarter and an eighth of the sides, then back up, with what was seen at
each size added on the way (as in U-Net, Ronneberger et al. 2015). The small sizes see most of the
image at little cost, which matters where the noise hides its details. The noise is what is
learned, as in DnCNN (Zhang et al. 2017). In evaluation the batch normalisation has fixed
statistics, so that each row is answered by itself. The size of the noise is not told to the
network, which learns from a range of sizes.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from dsrs.errors import InvalidInput
from dsrs.networks.cifar_resnet import ResidualBlock
from dsrs.networks.layers import initialized

# Sides are padded to multiples of this: they are halved three times.
SIDE_UNIT = 8


class ResidualDenoiser(nn.Module):
    """Images (n, colours, height, width) to images of the same shape, within their bounds.

    `channels` is the width at half of the sides; smaller sizes have two and four times as many.
    """

    def __init__(
        self, input_shape: tuple[int, ...], bounds: tuple[float, float], channels: int = 24
    ) -> None:
        super().__init__()
        if len(input_shape) != 3 or min(input_shape[1:]) < 2:
            raise InvalidInput(
                "a denoiser is trained for images (channels, height, width) of at least 2x2 "
                f"pixels, got inputs of shape {input_shape}"
            )
        self.input_shape, self.bounds, colours = input_shape, bounds, input_shape[0]
        self.missing = tuple(-side % SIDE_UNIT for side in input_shape[1:])
        fine, middle, coarse = channels, 2 * channels, 4 * channels
        self.enter = nn.Sequential(
            nn.Conv2d(colours, fine, 4, 2, padding=1, bias=False), nn.BatchNorm2d(fine), nn.ReLU()
        )
        self.fine = ResidualBlock(fine, fine, 1)
        self.middle = ResidualBlock(fine, middle, 2)
        self.coarse = ResidualBlock(middle, coarse, 2)
        self.from_coarse, self.from_middle = _doubled(coarse, middle), _doubled(middle, fine)
        self.middle_again, self.fine_again = _mixed(middle), _mixed(fine)
        last = nn.Conv2d(fine, 4 * colours, 3, padding=1)
        self.leave = nn.Sequential(last, nn.PixelShuffle(2))
        initialized(self)
        nn.init.zeros_(last.weight)  # an untrained one changes nothing but values out of bounds

    def forward(self, images: Tensor) -> Tensor:
        lower, upper = self.bounds
        unit = (images - lower) / (upper - lower)
        bottom, right = self.missing
        if bottom or right:
            unit = functional.pad(unit, (0, right, 0, bottom), mode="replicate")
        cleaned: Tensor = unit - self._noise(unit - 0.5)
        height, width = images.shape[2:]
        return cleaned[:, :, :height, :width].clamp(0, 1) * (upper - lower) + lower

    def _noise(self, centred: Tensor) -> Tensor:
        fine = self.fine(self.enter(centred))
        middle = self.middle(fine)
        middle = self.middle_again(middle + self.from_coarse(self.coarse(middle)))
        noise: Tensor = self.leave(self.fine_again(fine + self.from_middle(middle)))
        return noise


def _doubled(inputs: int, outputs: int) -> nn.Module:
    """Twice the sides, by four values of each channel for each place."""
    return nn.Sequential(nn.Conv2d(inputs, 4 * outputs, 1), nn.PixelShuffle(2))


def _mixed(channels: int) -> nn.Module:
    convolution = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(channels), nn.ReLU())
