"""Four convolutions (32, 32, 64, 64 channels) and three linear layers."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from dsrs.errors import InvalidInput
from dsrs.networks.layers import initialized


def large(input_shape: Sequence[int], num_classes: int) -> nn.Module:
    """The paper's network for MNIST (`mnist_43` in its authors' files)."""
    return _cnn(input_shape, num_classes, (3, 4, 3, 4), (1, 2, 1, 2), (512, 512))


def small(input_shape: Sequence[int], num_classes: int) -> nn.Module:
    """The same with strides from the first layer on: about 7 times as fast."""
    return _cnn(input_shape, num_classes, (4, 3, 3, 3), (2, 2, 2, 1), (256, 128))


def _cnn(
    input_shape: Sequence[int],
    num_classes: int,
    kernels: Sequence[int],
    strides: Sequence[int],
    hidden: Sequence[int],
) -> nn.Module:
    channels, height, width = input_shape
    layers: list[nn.Module] = []
    for outputs, kernel, stride in zip((32, 32, 64, 64), kernels, strides, strict=True):
        layers += [nn.Conv2d(channels, outputs, kernel, stride, padding=1), nn.ReLU()]
        channels = outputs
        height, width = ((side + 2 - kernel) // stride + 1 for side in (height, width))
    if min(height, width) < 1:
        raise InvalidInput(f"images of shape {tuple(input_shape)} are too small for this network")
    layers.append(nn.Flatten())
    features = channels * height * width
    for units in hidden:
        layers += [nn.Linear(features, units), nn.ReLU()]
        features = units
    return initialized(nn.Sequential(*layers, nn.Linear(features, num_classes)))
