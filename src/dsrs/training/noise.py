"""Noise of any law of the package as torch tensors."""

from __future__ import annotations

import math

import numpy as np
import torch

from dsrs.errors import InvalidInput
from dsrs.laws import AdditionalLaw, GeneralizedGaussian
from dsrs.training.answers import by_image

NoiseLaw = GeneralizedGaussian | AdditionalLaw


def sample_noise(
    law: NoiseLaw, images: torch.Tensor, generator: np.random.Generator
) -> torch.Tensor:
    """Independent noise for each image of a batch, of its shape and on its device.

    Noise is direction x norm (docs/math.md 1). The norms, one number an image, come from the law
    itself; the directions are normal vectors drawn on the device from torch's generator there.
    """
    base = law if isinstance(law, GeneralizedGaussian) else law.base
    if math.prod(images.shape[1:]) != base.d:
        raise InvalidInput(
            f"the noise law has d = {base.d}, but an image of shape {tuple(images.shape[1:])} "
            f"has {math.prod(images.shape[1:])} values"
        )
    directions = torch.randn(images.shape, device=images.device, dtype=torch.float32)
    if isinstance(law, GeneralizedGaussian) and law.is_gaussian:
        return directions.mul_(law.sigma)
    norms = law.sample_norms(len(images), generator).astype(np.float32)
    lengths = directions.flatten(1).norm(p=2.0, dim=1)
    factors = torch.from_numpy(norms).to(images.device) / lengths
    return directions.mul_(by_image(factors, images))
