"""Base classifiers. Each normalises its input itself, so noise is added in [0, 1] units."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from dsrs.classifiers.python_object import imported
from dsrs.errors import ClassifierError, InvalidInput, MissingExtra


class Normalize(nn.Module):
    """(x - mean) / deviation, a channel at a time; saved with the weights."""

    def __init__(self, mean: Sequence[float], deviation: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32).view(1, -1, 1, 1))
        self.register_buffer(
            "deviation", torch.tensor(deviation, dtype=torch.float32).view(1, -1, 1, 1)
        )

    def forward(self, images: Tensor) -> Tensor:
        mean, deviation = self.get_buffer("mean"), self.get_buffer("deviation")
        return (images - mean) / deviation


class MnistCnn(nn.Module):
    """4 convolutions (32, 32, 64, 64 channels) and 3 linear layers, as the paper's for MNIST."""

    def __init__(
        self,
        input_shape: Sequence[int],
        num_classes: int,
        kernels: Sequence[int] = (4, 3, 3, 3),
        strides: Sequence[int] = (2, 2, 2, 1),
        hidden: Sequence[int] = (256, 128),
    ) -> None:
        super().__init__()
        channels, height, width = input_shape
        layers: list[nn.Module] = []
        for outputs, kernel, stride in zip((32, 32, 64, 64), kernels, strides, strict=True):
            layers += [nn.Conv2d(channels, outputs, kernel, stride, padding=1), nn.ReLU()]
            channels = outputs
            height, width = ((side + 2 - kernel) // stride + 1 for side in (height, width))
        layers.append(nn.Flatten())
        features = channels * height * width
        for units in hidden:
            layers += [nn.Linear(features, units), nn.ReLU()]
            features = units
        self.layers = nn.Sequential(*layers, nn.Linear(features, num_classes))
        _initialize(self)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.layers(images)
        return logits


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut without parameters (He et al. 2016, option A)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.stride = stride
        self.added = outputs - inputs

    def forward(self, features: Tensor) -> Tensor:
        inner = torch.relu(self.first_norm(self.first(features)))
        inner = self.second_norm(self.second(inner))
        shortcut = features[:, :, :: self.stride, :: self.stride]
        if self.added:
            half = self.added // 2
            shortcut = nn.functional.pad(shortcut, (0, 0, 0, 0, half, self.added - half))
        return torch.relu(inner + shortcut)


class CifarResNet(nn.Module):
    """The residual network of depth 6n + 2 for 32x32 images (He et al. 2016)."""

    def __init__(self, input_shape: Sequence[int], num_classes: int, depth: int) -> None:
        super().__init__()
        if depth < 8 or (depth - 2) % 6:
            raise InvalidInput(f"`depth` must be 6n + 2 with n >= 1, such as 20, got {depth}")
        layers: list[nn.Module] = [
            nn.Conv2d(input_shape[0], 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
        ]
        channels = 16
        for outputs in (16, 32, 64):
            for block in range((depth - 2) // 6):
                stride = 2 if block == 0 and outputs > 16 else 1
                layers.append(ResidualBlock(channels, outputs, stride))
                channels = outputs
        self.layers = nn.Sequential(
            *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, num_classes)
        )
        _initialize(self)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.layers(images)
        return logits


ARCHITECTURES: dict[str, Callable[[Sequence[int], int], nn.Module]] = {
    # Strides from the first layer on: about 35,000 images/s a core where the large one does 5,000.
    "mnist-cnn": MnistCnn,
    "mnist-cnn-large": partial(
        MnistCnn, kernels=(3, 4, 3, 4), strides=(1, 2, 1, 2), hidden=(512, 512)
    ),
    "resnet-20": partial(CifarResNet, depth=20),
    "resnet-110": partial(CifarResNet, depth=110),
}


def build_architecture(
    spec: str,
    input_shape: Sequence[int],
    num_classes: int,
    mean: Sequence[float],
    deviation: Sequence[float],
) -> nn.Module:
    """A named architecture behind its normalisation, or the user's `package.module:name`.

    `name` is a module or a function of no arguments that makes one. It is used as it is: it takes
    images in [0, 1] of shape (n, *input_shape) and gives logits of shape (n, num_classes).
    """
    if ":" in spec:
        model = _user_module(spec)
    elif spec in ARCHITECTURES:
        if len(input_shape) != 3:
            raise InvalidInput(
                f"{spec} takes images of shape (channels, height, width), got {tuple(input_shape)}"
            )
        model = nn.Sequential(
            Normalize(mean, deviation), ARCHITECTURES[spec](input_shape, num_classes)
        )
    else:
        raise InvalidInput(
            f"the architecture must be one of {', '.join(ARCHITECTURES)}, or package.module:name, "
            f"got {spec!r}"
        )
    _check_answers(model, spec, input_shape, num_classes)
    return model


def _initialize(model: nn.Module) -> None:
    # He et al. 2015; torch's default is so small that deep stacks stand still for the first epoch.
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def parameter_count(model: nn.Module) -> int:
    """Trained numbers in the model."""
    return sum(math.prod(weights.shape) for weights in model.parameters())


def _user_module(spec: str) -> nn.Module:
    module_name, _, name = spec.partition(":")
    try:
        home = imported(module_name, spec)
    except ClassifierError as error:
        # The default for ImageNet, which not everyone needs.
        missing = getattr(error.__cause__, "name", None) or ""
        if missing.partition(".")[0] == "torchvision":
            raise MissingExtra("torchvision", "imagenet") from None
        raise
    if not hasattr(home, name):
        raise ClassifierError(f"{module_name} has no {name!r}")
    found = getattr(home, name)
    try:
        model = found() if callable(found) and not isinstance(found, nn.Module) else found
    except Exception as error:
        raise ClassifierError(f"{spec} made no model: {type(error).__name__}: {error}") from error
    if not isinstance(model, nn.Module):
        raise ClassifierError(
            f"{spec!r} must be a torch.nn.Module or a function of no arguments that makes one, "
            f"got {type(model).__name__}"
        )
    return model


def _check_answers(
    model: nn.Module, spec: str, input_shape: Sequence[int], num_classes: int
) -> None:
    was_training = model.training
    model.eval()
    with torch.no_grad():
        answer = model(torch.zeros(2, *input_shape))
    model.train(was_training)
    if tuple(answer.shape) != (2, num_classes):
        raise ClassifierError(
            f"{spec} must give logits of shape (n, {num_classes}), "
            f"got {tuple(answer.shape)} for n = 2"
        )
