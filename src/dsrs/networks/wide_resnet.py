"""The wide residual network (Zagoruyko & Komodakis 2016) of the paper's authors for TinyImageNet.

Depth 10, ten times as wide: 160, 320 and 640 channels. They crop images to 56x56.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional

from dsrs.errors import InvalidInput
from dsrs.networks.layers import initialized

WIDE_FIRST, WIDE_WIDTHS = 16, (160, 320, 640)
POOL = 7


class WideBlock(nn.Module):
    """Normalisation before each of two 3x3 convolutions, beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, stride, padding=1)
        # A Sequential of one, since its weights are called shortcut.0 in published files.
        self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride))

    def forward(self, features: Tensor) -> Tensor:
        inner = self.conv1(functional.relu(self.bn1(features)))
        answer: Tensor = self.conv2(functional.relu(self.bn2(inner))) + self.shortcut(features)
        return answer


class WideResNet(nn.Module):
    """Three stages of one block each (`wide_resnet_imagenet64` in the files of the authors)."""

    def __init__(self, input_shape: Sequence[int], num_classes: int) -> None:
        super().__init__()
        channels, *sides = input_shape
        # Two stages halve the sides, rounding up, and the pooling leaves whole windows.
        height, width = ((-(-side // 4)) // POOL for side in sides)
        if min(height, width) < 1:
            raise InvalidInput(
                f"the wide network takes images of at least 25 x 25, got {tuple(input_shape)}"
            )
        self.conv1 = nn.Conv2d(channels, WIDE_FIRST, 3, padding=1)
        self.layer1 = nn.Sequential(WideBlock(WIDE_FIRST, WIDE_WIDTHS[0], 1))
        self.layer2 = nn.Sequential(WideBlock(WIDE_WIDTHS[0], WIDE_WIDTHS[1], 2))
        self.layer3 = nn.Sequential(WideBlock(WIDE_WIDTHS[1], WIDE_WIDTHS[2], 2))
        self.bn1 = nn.BatchNorm2d(WIDE_WIDTHS[2])
        self.linear = nn.Linear(WIDE_WIDTHS[2] * height * width, num_classes)
        initialized(self)

    def forward(self, images: Tensor) -> Tensor:
        features = self.conv1(images)
        for stage in (self.layer1, self.layer2, self.layer3):
            features = stage(features)
        pooled = functional.avg_pool2d(functional.relu(self.bn1(features)), POOL)
        logits: Tensor = self.linear(pooled.flatten(1))
        return logits
