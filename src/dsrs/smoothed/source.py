"""A model and noise as a program gives them, made ready when the shape of inputs is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from dsrs.classifiers import Classifier, ModelOptions, classifier_of, load_classifier
from dsrs.datasets import as_array
from dsrs.errors import InvalidInput
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
