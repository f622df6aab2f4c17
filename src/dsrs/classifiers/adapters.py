"""What an adapter is: how models of one kind are told by their name, and read.

A new kind of model is a file with an `Adapter` and a line in `ADAPTERS` of loading.py, or
`register(adapter)` from code outside of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dsrs.classifiers.base import UNIT_BOUNDS, Classifier
from dsrs.classifiers.precision import Precision
from dsrs.errors import InvalidInput, ShapeNeeded

if TYPE_CHECKING:
    from dsrs.classifiers.preparation import Preparation
    from dsrs.classifiers.scaling import Scaling

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
            where nobody says anything.
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
