"""From a network that a library has published to a classifier of pixels."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from dsrs.classifiers.adapters import ModelOptions
from dsrs.classifiers.base import UNIT_BOUNDS, Classifier, raised
from dsrs.classifiers.preparation import Preparation, normalisation_text
from dsrs.classifiers.torch_module import from_torch
from dsrs.classifiers.weights import normalised_network, read_weights, unwrapped, with_weights
from dsrs.errors import ClassifierError, InvalidInput, MissingExtra


def library(module: str, extra: str) -> ModuleType:
    """A module of a library of models; MissingExtra, or ClassifierError where it is damaged."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except (ImportError, RuntimeError) as error:  # such as one that was built for another PyTorch
        if (getattr(error, "name", None) or "").partition(".")[0] == package:
            raise MissingExtra(package, extra) from None
        raise ClassifierError(f"{package} cannot be imported: {raised(error)}") from error


def published_classifier(
    network: Any, title: str, prepared: Preparation, options: ModelOptions
) -> Classifier:
    """A classifier of pixels from a published network in evaluation mode.

    Args:
        network: the torch module as its library builds it; it is changed if there are `weights`.
        title: what messages and the description call it.
        prepared: what its library says of its inputs.
        options: those of `load_classifier`; `mean`, `std` and `input_shape` overrule the library.
    """
    shape = options.input_shape or prepared.input_shape or options.shape_of(title)
    given = (tuple(options.mean), tuple(options.std))
    mean, std = given if any(given) else (prepared.mean, prepared.std)
    if not any(given) and (mean or std) and tuple(options.bounds) != UNIT_BOUNDS:
        raise InvalidInput(
            f"{title} normalises pixels in [0, 1] ({normalisation_text(mean, std)}), got `bounds` "
            f"{tuple(options.bounds)}; scale the data to [0, 1], or give `mean` and `std` in its "
            "units"
        )
    if options.weights is not None:
        name = f"the weights of {Path(options.weights).name} and {title}"
        tensors = read_weights(options.weights)
        if not any(given) and unwrapped(tensors, network.state_dict()).front is not None:
            mean, std = (), ()  # the file has a normalisation of its own
        network = with_weights(network, tensors, name, mean, std)
        title = f"{title} with {Path(options.weights).name}"
    elif mean or std:
        network = normalised_network(network, mean or (0.0,), std or (1.0,))
    described = f"{title} ({normalisation_text(mean, std)})" if mean or std else title
    names = ("num_classes", "bounds", "engine", "precision", "threads", "device")
    try:
        made = from_torch(network.eval(), shape, **options.chosen(*names), name=described)
    except ClassifierError as error:
        if prepared.input_shape in (None, tuple(shape)):
            raise
        raise ClassifierError(
            f"{error}; {title} was made for inputs of shape {prepared.input_shape}, the data has "
            f"{tuple(shape)}"
        ) from error
    known = len(prepared.class_names) == made.num_classes
    return replace(made, class_names=prepared.class_names) if known else made
