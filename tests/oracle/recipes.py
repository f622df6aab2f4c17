"""Slow textbook versions of the training recipes: one image at a time, gradients by differences.

Written from the formulas in the docstrings of dsrs.training.recipes, without PyTorch. A classifier
is a function from a vector x to the probabilities f(x) of the classes; `noise` is a list of
vectors e_1, ..., e_m.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Classifier = Callable[[Vector], Vector]
STEP = 1e-5  # central differences: their error is about STEP^2 times a third derivative


def gradient(function: Callable[[Vector], float], x: Vector) -> Vector:
    """The gradient of `function` at x by central differences."""
    slopes = np.empty_like(x)
    for i in range(len(x)):
        there, back = x.copy(), x.copy()
        there[i] += STEP
        back[i] -= STEP
        slopes[i] = (function(there) - function(back)) / (2 * STEP)
    return slopes


def uphill(function: Callable[[Vector], float], x: Vector, length: float) -> Vector:
    """x moved by `length` in the direction of the gradient."""
    slopes = gradient(function, x)
    return x + length * slopes / math.sqrt(float(slopes @ slopes))


def into_ball(x: Vector, center: Vector, radius: float) -> Vector:
    """The point of the ball that is nearest to x."""
    distance = math.dist(x, center)
    return x if distance <= radius else center + (x - center) * radius / distance


def smoothed(f: Classifier, x: Vector, noise: Sequence[Vector]) -> Vector:
    """(1/m) sum_i f(x + e_i)."""
    return sum((f(x + e) for e in noise), np.zeros_like(f(x))) / len(noise)


def divergence(p: Vector, q: Vector) -> float:
    """KL(p || q)."""
    return sum(float(a) * math.log(a / b) for a, b in zip(p, q, strict=True))


def gaussian_loss(f: Classifier, x: Vector, y: int, noise: Sequence[Vector]) -> float:
    """The mean over i of -ln f_y(x + e_i)."""
    return sum(-math.log(f(x + e)[y]) for e in noise) / len(noise)


def smoothmix_loss(
    f: Classifier,
    x: Vector,
    y: int,
    noise: Sequence[Vector],
    share: float,
    settings: dict[str, float],
    ramp: float,
) -> float:
    """SmoothMix, mixed by `share` in [0, 1/2]; `settings` are those of the recipe."""
    path = [x]
    for _ in range(int(settings["steps"])):
        moved = uphill(
            lambda point: -math.log(smoothed(f, point, noise)[y]), path[-1], settings["step_size"]
        )
        path.append(np.clip(into_ball(moved, x, settings["max_norm"]), 0, 1))
    s = int(settings["mix_step"])
    clean = into_ball(path[s], x, ramp * s * settings["step_size"])
    mixed = (1 - share) * clean + share * path[-1]
    mean = smoothed(f, clean, noise)
    loss = gaussian_loss(f, clean, y, noise)
    if int(np.argmax(mean)) == y:
        target = (1 - share) * mean + share / len(mean)
        strays = sum(divergence(target, f(mixed + e)) for e in noise) / len(noise)
        loss += ramp * settings["mix_weight"] * strays
    return loss
