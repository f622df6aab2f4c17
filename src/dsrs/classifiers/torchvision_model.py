"""`torchvision:NAME`: a model of torchvision with its published weights, or with a file of them.

torchvision itself finds the weights: in its cache, or on the network where it is allowed to.
Nothing is fetched if a file is given as `weights`.
"""

from __future__ import annotations

from typing import Any

from dsrs.classifiers.adapters import Adapter, ModelOptions
from dsrs.classifiers.base import Classifier, raised
from dsrs.classifiers.preparation import RESAMPLES, Preparation, square
from dsrs.classifiers.published import library, published_classifier
from dsrs.errors import ClassifierError

TORCHVISION_PREFIX = "torchvision:"
MODELS = ("torchvision.models", "imagenet")  # the module, and the extra that brings it


def from_torchvision(name: str, options: ModelOptions) -> Classifier:
    """The classifier `torchvision:resnet50`; `num_classes` is for `weights` of your own."""
    architecture = name.removeprefix(TORCHVISION_PREFIX)
    published = _weights(architecture)
    classes = {} if options.num_classes is None else {"num_classes": options.num_classes}
    try:
        network = library(*MODELS).get_model(
            architecture, weights=published if options.weights is None else None, **classes
        )
    except Exception as error:
        raise ClassifierError(f"torchvision has not made {name!r}: {raised(error)}") from error
    return published_classifier(network.eval(), name, _preparation(published, name), options)


def preparation(name: str) -> Preparation:
    """What torchvision knows of the inputs of a model, without making it."""
    return _preparation(_weights(name.removeprefix(TORCHVISION_PREFIX)), name)


ADAPTER = Adapter(
    "torchvision:NAME",
    lambda name: name.startswith(TORCHVISION_PREFIX),
    from_torchvision,
    frozenset({"engine", "precision", "weights", "mean"}),
    preparation,
)


def _preparation(weights: Any, title: str) -> Preparation:
    """The transform that torchvision keeps beside the weights."""
    transform = weights.transforms()
    side = square(transform.crop_size, title)
    resample = str(getattr(transform.interpolation, "value", transform.interpolation))
    return Preparation(
        input_shape=(3, side, side),
        mean=tuple(transform.mean),
        std=tuple(transform.std),
        size=square(transform.resize_size, title),
        crop=side,
        resample=resample if resample in RESAMPLES else "bilinear",
        class_names=tuple(weights.meta.get("categories", ())),
    )


def _weights(architecture: str) -> Any:
    """The default weights of a classifier by name, as torchvision lists them."""
    try:
        weights = library(*MODELS).get_model_weights(architecture).DEFAULT
        weights.transforms().crop_size  # noqa: B018  (detection and video models have none)
    except (ValueError, KeyError, AttributeError) as error:
        raise ClassifierError(
            f"torchvision has no image classifier {architecture!r} with weights: {raised(error)}"
        ) from error
    return weights
