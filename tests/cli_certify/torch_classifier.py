"""PyTorch models that `--model torch_classifier:NAME` names."""

from __future__ import annotations

import time
from typing import Any

import torch


def net() -> Any:
    """A small network on images of 4 x 4 pixels, with two classes."""
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
    ).eval()


class _Slow(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = net()

    def forward(self, batch: Any) -> Any:
        time.sleep(0.004)
        return self.inner(batch)


def slow() -> Any:
    """The same, slowly enough to be stopped on the way."""
    return _Slow().eval()
