"""How the publisher of a model prepares images for it: its size, its normalisation, its classes.

timm, torchvision and Hugging Face keep this beside the weights, each in a form of its own; their
adapters turn it into a `Preparation`. The commands read images as it says unless they are told
otherwise, and the normalisation becomes a part of the model, so that radii are in units of pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dsrs.errors import ClassifierError

RESAMPLES = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")


@dataclass(frozen=True)
class Preparation:
    """What a model's own transform does to an image, and what its classes are called.

    Attributes:
        input_shape: the shape of one input after the transform, where it is said.
        mean: of the normalisation (x - mean) / std of pixels in [0, 1]; empty: there is none.
        std: see `mean`.
        size: pixels to which the shorter side is scaled.
        crop: pixels of the middle square that is kept.
        resample: the filter of the scaling, by Pillow's name in small letters.
        stretch: whether both sides are scaled to `size`, whatever they were.
        class_names: the names of the classes in their order; empty if they are not known.
    """

    input_shape: tuple[int, ...] | None = None
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    size: int | None = None
    crop: int | None = None
    resample: str = "bilinear"
    stretch: bool = False
    class_names: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return a line such as `images scaled to 256 (bilinear) and cropped to 224, mean ...`."""
        parts = []
        if self.size is not None:
            way = f"{self.size} x {self.size}" if self.stretch else f"{self.size}"
            parts.append(f"images scaled to {way} ({self.resample})")
        if self.crop is not None and self.crop != self.size:
            parts.append(f"the middle {self.crop} x {self.crop} kept")
        return ", ".join([*parts, self.normalisation])

    @property
    def normalisation(self) -> str:
        """Return `mean 0.5, std 0.25`, or a text that there is none."""
        if not (self.mean or self.std):
            return "pixels are not normalised"
        return normalisation_text(self.mean, self.std)


def normalisation_text(mean: Sequence[float], std: Sequence[float]) -> str:
    """Return `mean 0.5, std 0.25` for descriptions."""
    return ", ".join(
        f"{name} {','.join(f'{value:g}' for value in values)}"
        for name, values in (("mean", mean or (0.0,)), ("std", std or (1.0,)))
    )


def square(size: Any, title: str) -> int:
    """The pixels of `224`, `[224]`, `(224, 224)` or `{"height": 224, "width": 224}`.

    `size` comes from a file of the publisher; what is no square is refused.
    """
    sides = list(size.values()) if isinstance(size, Mapping) else size
    sides = list(sides) if isinstance(sides, list | tuple) else [sides]
    if not sides or any(type(side) is not int or side < 1 or side != sides[0] for side in sides):
        raise ClassifierError(f"{title} wants images of size {size}, expected a square of pixels")
    return int(sides[0])
