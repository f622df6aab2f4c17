"""The residual network of depth 6n + 2 for 32x32 images, with projections where shapes change.

He et al. 2016 pad the shortcut instead; Cohen et al. 2019 and those who follow them, the paper's
authors too, train the form with projections, so that is the one whose weights people have.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional

from dsrs.errors import InvalidInput
from dsrs.networks.layers import initialized

CIFAR_WIDTHS = (16, 32, 64)


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample: nn.Module = nn.Identity()
        if stride > 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, features: Tensor) -> Tensor:
        inner = functional.relu(self.bn1(self.conv1(features)))
        return functional.relu(self.bn2(self.conv2(inner)) + self.downsample(features))


class CifarResNet(nn.Module):
    """Three stages of n blocks, of 16, 32 and 64 channels unless `widths` says otherwise.

    `stride` is that of the first convolution: 2 halves the images before the first stage.
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_classes: int,
        depth: int,
        widths: tuple[int, int, int] = CIFAR_WIDTHS,
        stride: int = 1,
    ) -> None:
        super().__init__()
        if depth < 8 or (depth - 2) % 6:
            raise InvalidInput(f"`depth` must be 6n + 2 with n >= 1, such as 20, got {depth}")
        blocks = (depth - 2) // 6
        self.conv1 = nn.Conv2d(input_shape[0], widths[0], 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(widths[0])
        self.layer1 = _stage(widths[0], widths[0], blocks, stride=1)
        self.layer2 = _stage(widths[0], widths[1], blocks, stride=2)
        self.layer3 = _stage(widths[1], widths[2], blocks, stride=2)
        self.fc = nn.Linear(widths[2], num_classes)
        initialized(self)

    def forward(self, images: Tensor) -> Tensor:
        features = functional.relu(self.bn1(self.conv1(images)))
        for stage in (self.layer1, self.layer2, self.layer3):
            features = stage(features)
        logits: Tensor = self.fc(functional.adaptive_avg_pool2d(features, 1).flatten(1))
        return logits


def resnet_8_half(input_shape: Sequence[int], num_classes: int) -> nn.Module:
    """Depth 8 on halved images, 24 to 96 channels: a sixth of the work of depth 20."""
    return CifarResNet(input_shape, num_classes, depth=8, widths=(24, 48, 96), stride=2)


def resnet_20(input_shape: Sequence[int], num_classes: int) -> nn.Module:
    """Depth 20 (`cifar_resnet20` in published files)."""
    return CifarResNet(input_shape, num_classes, depth=20)


def resnet_110(input_shape: Sequence[int], num_classes: int) -> nn.Module:
    """Depth 110 (`cifar_resnet110` in published files)."""
    return CifarResNet(input_shape, num_classes, depth=110)


def _stage(inputs: int, outputs: int, blocks: int, stride: int) -> nn.Module:
    first = ResidualBlock(inputs, outputs, stride)
    return nn.Sequential(first, *(ResidualBlock(outputs, outputs, 1) for _ in range(blocks - 1)))
