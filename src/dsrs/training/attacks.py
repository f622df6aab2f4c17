"""Steps of the attacks that recipes train against. Every row of a batch moves by itself."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from dsrs.training.answers import by_image

SMALLEST_GRADIENT = 1e-8  # below any gradient that says something: a flat place is not left


def ascended(score: Callable[[Tensor], Tensor], start: Tensor, length: float) -> Tensor:
    """`start` moved by `length` along the gradient of `score`, which must be a sum over rows."""
    start = start.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(score(start), start)
    norms = gradient.flatten(1).norm(dim=1)
    return (start + length * gradient / by_image(norms + SMALLEST_GRADIENT, gradient)).detach()


def within(moved: Tensor, centers: Tensor, radius: float | None) -> Tensor:
    """The points of `moved`, brought within `radius` of `centers` on a straight line."""
    if radius is None:
        return moved
    steps = moved - centers
    norms = steps.flatten(1).norm(dim=1)
    shares = (radius / norms.clamp(min=SMALLEST_GRADIENT)).clamp(max=1)
    return centers + by_image(shares, steps) * steps
