"""Named networks for images: what `dsrs train` builds, and what published weights fit.

The tensors of a network have the names that they have in published files of
weights, so that those can be read by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from dsrs._lazy import exports
from dsrs.errors import InvalidInput

if TYPE_CHECKING:
    from torch.nn import Module

    from dsrs.networks.architectures import CifarResNet as CifarResNet
    from dsrs.networks.architectures import Converting as Converting
    from dsrs.networks.architectures import Logits as Logits
    from dsrs.networks.architectures import Normalize as Normalize
    from dsrs.networks.architectures import ResidualDenoiser as ResidualDenoiser
else:
    __all__, __getattr__, __dir__ = exports(__name__, ["NETWORKS", "build_network"])

NETWORKS = {
    "mnist-cnn": "mnist_cnn_small",
    "mnist-cnn-large": "mnist_cnn_large",
    "lenet": "LeNet",
    "resnet-8-half": "resnet_8_half",
    "resnet-20": "resnet_20",
    "resnet-110": "resnet_110",
    "wide-resnet-64": "WideResNet",
}


def build_network(name: str, input_shape: Sequence[int], num_classes: int) -> Module:
    """A named network with fresh weights; it takes normalised images.

    Args:
        name: A key of `NETWORKS`.
        input_shape: (channels, height, width).
        num_classes: Number of logits.
    """
    if name not in NETWORKS:
        raise InvalidInput(f"the network must be one of {', '.join(NETWORKS)}, got {name!r}")
    if len(input_shape) != 3:
        raise InvalidInput(
            f"{name} takes images of shape (channels, height, width), got {tuple(input_shape)}"
        )
    home = import_module("dsrs.networks.architectures")
    make: Callable[[Sequence[int], int], Module] = getattr(home, NETWORKS[name])
    return make(input_shape, num_classes)
