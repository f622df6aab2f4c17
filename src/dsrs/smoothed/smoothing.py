"""`dsrs.smooth`: from a model to its smoothed classifier in one call; and the embedded example."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Classifier, load_classifier
from dsrs.datasets import load_dataset
from dsrs.errors import MissingExtra
from dsrs.smoothed.classifier import OPTIONS, SmoothedClassifier
from dsrs.smoothed.source import MODEL_OPTIONS, refuse_unknown, source_of


def smooth(
    model: Any, sigma: float | None = None, *, k: float = 0.0, **options: Any
) -> SmoothedClassifier:
    """A model made robust by voting under noise.

        smoothed = dsrs.smooth(module, sigma=0.5)
        result = smoothed.certify(images, labels)

    Args:
        model: a PyTorch module in evaluation mode (a Hugging Face one too, by its `logits`), the
            name of an ONNX file or whatever else `load_classifier` reads, a fitted scikit-learn
            estimator, a function of float32 batches, or a `Classifier`.
        sigma: the size of the noise, in the units of the inputs.
        k: the exponent of the noise law; 0 is the Gaussian.
        options: those of `SmoothedClassifier` (`n`, `alpha`, `method`, `seed`, `radius`, ...), and
            how to read the model, the fields of `dsrs.classifiers.ModelOptions`: `input_shape`
            (default: that of the model, or of the first input), `bounds` (default: [0, 1]),
            `num_classes`, `mean` and `std` of a model that expects (x - mean) / std, `device`,
            `precision="bfloat16"` and `engine="compiled"` of a PyTorch module (`precision=0.01` is
            that of radii).
    """
    refuse_unknown(options, [*OPTIONS, *MODEL_OPTIONS], "smooth")
    # A number is the precision of a radius, at which votes end.
    of_votes = {"precision"} if not isinstance(options.get("precision"), str) else set()
    named = [name for name in MODEL_OPTIONS if name in options and name not in of_votes]
    of_model = {name: options.pop(name) for name in named}
    return SmoothedClassifier(source_of(model, sigma, k, of_model), **options)


class Demo(NamedTuple):
    """A small classifier of Fashion-MNIST, trained under noise of sigma 0.5, and test images.

    `images` are 100 of shape (1, 28, 28), as bytes, `labels` their classes.
    """

    model: Classifier
    images: NDArray[np.uint8]
    labels: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"Demo(model={self.model!r}, images: {len(self.images)}, labels: {len(self.labels)})"


def load_demo() -> Demo:
    """The model and the images of the package: `model, images, labels = load_demo()`."""
    try:
        with as_file(files("dsrs") / "demo") as folder:
            data = load_dataset(folder / "images.npz")
            model = load_classifier(folder / "model.onnx", input_shape=data.input_shape)
            return Demo(model, np.asarray(data.images), np.asarray(data.labels))
    except MissingExtra as error:
        raise MissingExtra(error.package, "demo") from error
