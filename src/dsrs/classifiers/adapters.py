"""What an adapter is: how models of one kind are told by their name, prepared for, and read.

A new kind of model is a file with an `Adapter` and a line in `ADAPTERS` of loading.py, or
`register(adapter)` from code outside of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dsrs.classifiers.base import UNIT_BOUNDS, Classifier
from dsrs.classifiers.tensor_passes import Precision
from dsrs.errors import ClassifierError, InvalidInput, ShapeNeeded

if TYPE_CHECKING:
    from dsrs.classifiers.scaling import Scaling

# ---- How the publisher of a model prepares images for it
# timm, torchvision and Hugging Face keep size, normalisation and classes beside the weights, each
# in a form of its own; their adapters turn it into a `Preparation`. The commands read images as it
# says unless they are told otherwise, and the normalisation becomes a part of the model, so that
# radii are in units of pixels.

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


# ---- Adapters and their options

Engine = Literal["auto", "onnx", "eager", "compiled"]


@dataclass(frozen=True)
class ModelOptions:
    """How to read a model; each adapter takes what concerns it.

    Attributes:
        input_shape: the shape of one input, needed where the model does not say it.
        num_classes: the number of classes, needed where the model does not say it.
        bounds: the least and the greatest value of a clean input; radii are in these units.
        threads: threads inside of one forward pass.
        device: where the model runs: "cpu", "cuda", several GPUs as "cuda:0,cuda:1" or "cuda:all".
        engine: what runs a PyTorch module: "onnx", "eager", "compiled" (by `torch.compile`), or
            "auto" for the faster one of the first two.
        precision: the arithmetic of a PyTorch module: "float32", "tf32", "bfloat16", "float16".
        output: which output of an ONNX model holds the logits or class ids.
        weights: a file of tensors for a PyTorch module or a network by name.
        channels_last: whether a function takes images (n, height, width, channels).
        mean: of a model that was trained on (x - mean) / std: one number, or one for each channel.
        std: see `mean`.
        scaling: the units of the features of tabular data; the classifier then takes scaled inputs.
        denoise: what stands between the noise and the model: "clip", "dct", "dct-mild" or an
            ONNX file.
    """

    input_shape: tuple[int, ...] | None = None
    num_classes: int | None = None
    bounds: tuple[float, float] = UNIT_BOUNDS
    threads: int = 1
    device: str = "cpu"
    engine: Engine = "auto"
    precision: Precision = "float32"
    output: str | None = None
    weights: str | Path | None = None
    channels_last: bool = False
    mean: Sequence[float] = ()
    std: Sequence[float] = ()
    scaling: Scaling | None = None
    denoise: str | Path | None = None

    def chosen(self, *names: str) -> dict[str, Any]:
        """These options by name, to hand on."""
        return {name: getattr(self, name) for name in names}

    def shape_of(self, title: str) -> tuple[int, ...]:
        """The input shape, which the model of this title does not say itself; or ShapeNeeded."""
        if self.input_shape is None:
            raise ShapeNeeded(f"{title} does not say its input shape; give `input_shape`")
        return self.input_shape

    def given(self) -> set[str]:
        """The names of the options that are not as by default."""
        return {field.name for field in fields(self) if getattr(self, field.name) != field.default}


# Options that every adapter takes, or that `load_classifier` sees to.
COMMON = {
    *("input_shape", "num_classes", "bounds", "threads", "device", "mean", "std"),
    *("scaling", "denoise"),
}


@dataclass(frozen=True)
class Adapter:
    """How models of one kind are read.

    Attributes:
        form: how their names look, such as `net.onnx`.
        accepts: whether a name is of this kind.
        load: reads the model of such a name.
        takes: the options that it takes beyond those of every kind; an adapter that takes `mean`
            sees to `mean` and `std` itself; so does every one that is given `weights`.
        prepares: reads what the publisher of a model says of its inputs, without the weights; None
            where nothing is said.
        runs_code: whether Python code is run that such a name, or a folder of this name, names.
    """

    form: str
    accepts: Callable[[str], bool]
    load: Callable[[str, ModelOptions], Classifier]
    takes: frozenset[str] = frozenset()
    prepares: Callable[[str], Preparation | None] = lambda name: None
    runs_code: bool = False


def by_suffix(*suffixes: str) -> Callable[[str], bool]:
    """Return a test for names of files with one of these suffixes, in upper or lower case.

    Args:
        suffixes: such as `.onnx`.
    """
    return lambda name: Path(name).suffix.lower() in suffixes


def check_options(
    adapter: Adapter, name: str, options: ModelOptions, known: Sequence[Adapter]
) -> None:
    """Raise InvalidInput if an option is given that this kind of model does not take."""
    for option in sorted(options.given() - COMMON - adapter.takes):
        forms = " or ".join(other.form for other in known if option in other.takes)
        value = getattr(options, option)
        said = f"`{option}` {value!r}" if option in ("engine", "precision") else f"`{option}`"
        raise InvalidInput(f"{said} goes with {forms}, got the model {name!r}")
