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


def with_moments_of(moved: Tensor, noise: Tensor) -> Tensor:
    """`moved`, shifted and scaled to the mean and the variance of `noise`, row by row.

    Their norms are then equal too, so a law of the norm calls both equally likely.
    """
    means, deviations = _moments(moved)
    wanted_means, wanted_deviations = _moments(noise)
    scale = wanted_deviations / deviations.clamp(min=SMALLEST_GRADIENT)
    return by_image(wanted_means, moved) + by_image(scale, moved) * (moved - by_image(means, moved))


def _moments(noise: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each row."""
    flat = noise.flatten(1)
    return flat.mean(dim=1), flat.std(dim=1, correction=0)
