"""The denoisers by name, as `--denoise` takes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dsrs.classifiers.denoisers.base import Denoiser
from dsrs.classifiers.denoisers.clip import Clip
from dsrs.classifiers.denoisers.dct import BlockCosine, MildBlockCosine
from dsrs.classifiers.denoisers.network import NetworkDenoiser
from dsrs.errors import InvalidInput

# Makes a denoiser of inputs of this shape, in these bounds.
Maker = Callable[[tuple[int, ...], tuple[float, float]], Denoiser]

DENOISERS: dict[str, Maker] = {each.name: each for each in (Clip, BlockCosine, MildBlockCosine)}


def register_denoiser(name: str, maker: Maker) -> None:
    """Let `denoiser_from` and `--denoise` know another denoiser."""
    DENOISERS[name] = maker


def denoiser_from(
    text: str | Path, input_shape: tuple[int, ...], bounds: tuple[float, float]
) -> Denoiser:
    """The denoiser that `text` names: one of `DENOISERS`, or an ONNX file from images to images.

    Args:
        text: `clip`, `dct`, `dct-mild` or the name of a file that ends in .onnx.
        input_shape: the shape of one input.
        bounds: the least and the greatest value of a clean input.
    """
    name = str(text)
    if name in DENOISERS:
        return DENOISERS[name](input_shape, bounds)
    if Path(name).suffix.lower() == ".onnx":
        return NetworkDenoiser.read(Path(name), input_shape)
    raise InvalidInput(
        f"`denoise` must be one of {', '.join(DENOISERS)} or a file that ends in .onnx, "
        f"got {name!r}"
    )
