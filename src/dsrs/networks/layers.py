"""What several networks share: layers around them, and the first weights."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


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
