"""Named networks for images: what `dsrs train` builds, and what published weights fit.

One file a network. The tensors of a network have the names that they have in published files of
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

    from dsrs.networks.cifar_resnet import CifarResNet as CifarResNet
    from dsrs.networks.denoiser import ResidualDenoiser as ResidualDenoiser
    from dsrs.networks.layers import Converting as Converting
    from dsrs.networks.layers import Logits as Logits
    from dsrs.networks.layers import Normalize as Normalize
else:
    __all__, __getattr__, __dir__ = exports(
        __name__,
        {
            "cifar_resnet": ("CifarResNet",),
            "denoiser": ("ResidualDenoiser",),
            "layers": ("Converting", "Logits", "Normalize"),
        },
    )
    __all__ += ["NETWORKS", "build_network"]

# Where each is made, as module:function of (input_shape, num_classes); loaded when it is asked for.
NETWORKS = {
    "mnist-cnn": "mnist_cnn:small",
    "mnist-cnn-large": "mnist_cnn:large",
    "lenet": "lenet:LeNet",
    "resnet-8-half": "cifar_resnet:resnet_8_half",
    "resnet-20": "cifar_resnet:resnet_20",
    "resnet-110": "cifar_resnet:resnet_110",
    "wide-resnet-64": "wide_resnet:WideResNet",
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
    home, _, function = NETWORKS[name].partition(":")
    make: Callable[[Sequence[int], int], Module] = getattr(
        import_module(f"dsrs.networks.{home}"), function
    )
    return make(input_shape, num_classes)
