"""LeNet with two convolutions, as SmoothMix uses it for MNIST."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional

from dsrs.errors import InvalidInput
from dsrs.networks.layers import initialized

KERNEL = 5


class LeNet(nn.Module):
    """20 and 50 channels of 5x5 kernels, each halved by pooling, then 500 hidden units."""

    def __init__(self, input_shape: Sequence[int], num_classes: int) -> None:
        super().__init__()
        channels, *sides = input_shape
        # A convolution without padding takes 4 pixels, the pooling half of the rest, twice.
        height, width = (((side - KERNEL + 1) // 2 - KERNEL + 1) // 2 for side in sides)
        if min(height, width) < 1:
            raise InvalidInput(f"images of shape {tuple(input_shape)} are too small for LeNet")
        self.conv1 = nn.Conv2d(channels, 20, KERNEL)
        self.conv2 = nn.Conv2d(20, 50, KERNEL)
        self.fc1 = nn.Linear(50 * height * width, 500)
        self.fc2 = nn.Linear(500, num_classes)
        initialized(self)

    def forward(self, images: Tensor) -> Tensor:
        features = images
        for convolution in (self.conv1, self.conv2):
            features = functional.max_pool2d(functional.relu(convolution(features)), 2)
        logits: Tensor = self.fc2(functional.relu(self.fc1(features.flatten(1))))
        return logits
