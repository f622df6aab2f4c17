"""The networks of this package, and the layers around them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from dsrs.errors import InvalidInput


class Normalize(nn.Module):
    """(x - mean) / deviation, one number for all channels or one for each; saved with the weights.

    Noise is added before, so that sigma and radii are in the units of the images.
    """

    def __init__(self, mean: Sequence[float], deviation: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32))
        self.register_buffer("deviation", torch.tensor(deviation, dtype=torch.float32))

    def forward(self, images: Tensor) -> Tensor:
        by_channel = (-1, *[1] * (images.dim() - 2))
        mean = self.get_buffer("mean").view(by_channel)
        return (images - mean) / self.get_buffer("deviation").view(by_channel)


class Converting(nn.Module):
    """A module of the floating-point type `kind` on batches of another."""

    def __init__(self, module: nn.Module, kind: torch.dtype) -> None:
        super().__init__()
        self.module, self.kind = module, kind

    def forward(self, batch: Tensor) -> Tensor:
        layout = torch.channels_last if batch.dim() == 4 else torch.preserve_format
        answer: Tensor = self.module(batch.to(self.kind, memory_format=layout))
        return answer


class Logits(nn.Module):
    """A model whose answer is a record with the tensor `logits`, as Hugging Face has them."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.model(images).logits
        return logits


def initialized(network: nn.Module) -> nn.Module:
    """The network with weights as He et al. 2015 draw them.

    PyTorch's default is so small that deep stacks stand still for the first epoch.
    """
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return network


# ---- Four convolutions (32, 32, 64, 64 channels) and three linear layers


def mnist_cnn_large(input_shape: Sequence[int], num_classes: int) -> nn.Module:
    """The paper's network for MNIST (`mnist_43` in its authors' files)."""
    return _cnn(input_shape, num_classes, (3, 4, 3, 4), (1, 2, 1, 2), (512, 512))


def mnist_cnn_small(input_shape: Sequence[int], num_classes: int) -> nn.Module:
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


# ---- LeNet with two convolutions, as SmoothMix uses it for MNIST

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


# ---- The residual network of depth 6n + 2 for 32x32 images, with projections where shapes change
# He et al. 2016 pad the shortcut instead; Cohen et al. 2019 and those who follow them, the paper's
# authors too, train the form with projections, so that is the one whose weights people have.

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


# ---- The wide residual network of the paper's authors for TinyImageNet
# Zagoruyko & Komodakis 2016; depth 10, ten times as wide: 160, 320 and 640 channels. They crop
# images to 56x56.

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


# ---- A small residual denoiser of images: it predicts the noise, and takes it away
# All layers work on the halved image or on less (as in FFDNet, Zhang et al. 2018): blocks of
# convolutions at a half, a quarter and an eighth of the sides, then back up, with what was seen at
# each size added on the way (as in U-Net, Ronneberger et al. 2015). The small sizes see most of
# the image at little cost, which matters where the noise hides its details. The noise is what is
# learned, as in DnCNN (Zhang et al. 2017). In evaluation the batch normalisation has fixed
# statistics, so that each row is answered by itself. The size of the noise is not told to the
# network, which learns from a range of sizes.

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
