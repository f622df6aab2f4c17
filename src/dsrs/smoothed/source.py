"""What a program hands over: a model and its noise, and one input or many.

The model is made ready when the shape of inputs is known; one input and many are told apart by
their shape and their labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.certifying import whole
from dsrs.classifiers import Classifier, ModelOptions, classifier_of, load_classifier
from dsrs.datasets import Dataset, as_array, dataset_of, is_collection
from dsrs.errors import InvalidInput, ShapeNeeded
from dsrs.laws import GeneralizedGaussian, shown

MODEL_OPTIONS = tuple(field.name for field in fields(ModelOptions))


@dataclass(frozen=True)
class Source:
    """What to smooth: `at` makes the classifier and the noise law for inputs of a shape.

    Attributes:
        model: a Classifier, a PyTorch module, a scikit-learn estimator, a callable, or a name that
            `load_classifier` reads.
        options: how to read the model.
        sigma: the size of the noise.
        k: the exponent of the noise law; 0 is the Gaussian.
    """

    model: Any
    options: ModelOptions
    sigma: float
    k: float

    def law(self, d: int) -> GeneralizedGaussian:
        """The noise for inputs of d values."""
        return GeneralizedGaussian(d, self.sigma, self.k)

    def at(self, shape: tuple[int, ...] | None) -> tuple[Classifier, GeneralizedGaussian]:
        """The classifier and its noise; ShapeNeeded where neither model nor `shape` tells d."""
        options = self.options if shape is None else replace(self.options, input_shape=shape)
        if isinstance(self.model, (str, Path)):
            given = {name: getattr(options, name) for name in options.given()}
            classifier = load_classifier(self.model, **given)
        else:
            name = getattr(self.model, "__qualname__", type(self.model).__name__)
            classifier = classifier_of(self.model, name, options)
        return classifier, self.law(math.prod(classifier.input_shape))


def source_of(model: Any, sigma: Any, k: float, options: dict[str, Any]) -> Source:
    """The source, if the model can be one; InvalidInput says what else to give."""
    kind = type(model).__name__
    if sigma is None:
        raise InvalidInput("`sigma`, the size of the noise, must be given, such as sigma=0.25")
    if isinstance(model, type):
        raise InvalidInput(
            f"expected a model, got the class {model.__name__}; make one of it, load its weights, "
            "and give that"
        )
    if isinstance(model, dict):
        raise InvalidInput(
            f"expected a model, got {kind}: weights without the network; load them into it with "
            "module.load_state_dict(weights), and give the module"
        )
    if not (isinstance(model, (str, Path, Classifier)) or callable(model)) and not hasattr(
        model, "predict"
    ):
        raise InvalidInput(
            f"expected a model (a PyTorch module, the name of an ONNX file, a scikit-learn "
            f"estimator or a function of batches), got {kind}"
        )
    try:
        size = float(sigma)
    except (TypeError, ValueError):
        raise InvalidInput(f"`sigma` must be a positive number, got {shown(sigma)}") from None
    if "device" not in options and hasattr(model, "parameters"):
        # A module stays where it is.
        first = next(iter(model.parameters()), None)
        options = options | ({} if first is None else {"device": str(first.device)})
    for name in {"mean", "std"} & options.keys():
        numbers = np.atleast_1d(as_array(options[name], f"`{name}`"))
        options = options | {name: tuple(map(float, numbers.ravel()))}
    return Source(model, ModelOptions(**options), size, k)


def refuse_unknown(options: dict[str, Any], known: list[str], of: str) -> None:
    """Raise InvalidInput if one of these is no option of what `of` names."""
    for name in options.keys() - set(known):
        close = get_close_matches(name.lower(), known, n=1)
        advice = f"did you mean `{close[0]}`?" if close else f"the options are {', '.join(known)}"
        raise InvalidInput(f"{of} has no option `{name}`; {advice}")


# ---- One input or many


def one_or_many(
    x: Any, labels: Any, shape: tuple[int, ...] | None, bounds: tuple[float, float]
) -> NDArray[Any] | Dataset:
    """One input as an array, many as a dataset; what neither is, is handed on as one, to be told.

    Args:
        x: what was given.
        labels: the label of one, those of all, or None.
        shape: the shape of one input, where it is known.
        bounds: the units of the inputs.
    """
    if is_collection(x):
        return dataset_of(x, labels, bounds=bounds)
    values = as_array(x, "the input")
    if _are_many(values.shape, labels, shape):
        return dataset_of(values, labels, name="inputs", bounds=bounds)
    if values.dtype == np.uint8:
        # As data of bytes is read; refused where the units are others.
        return Dataset.from_arrays(values[None], name="the input", bounds=bounds).input(0)
    return values


def _are_many(given: tuple[int, ...], labels: Any, shape: tuple[int, ...] | None) -> bool:
    """Whether an array of shape `given` holds many inputs.

    Where their shape is open, labels tell it; else (n, channels, height, width) are many, and an
    image or a vector is one.
    """
    if shape is not None:
        grey = len(given) == len(shape) == 3 and shape[0] == 1 != given[0]
        return len(given) > len(shape) or (grey and given[1:] == shape[1:])
    if labels is not None:
        return whole(labels) is None
    if len(given) in (1, 3, 4):
        return len(given) == 4
    raise ShapeNeeded(
        f"an array of shape {given} may be one input or many; give `input_shape`, the shape of one "
        "input, to dsrs.smooth"
    )
