"""A named network of this package with weights from a file: `resnet-110` and a checkpoint."""

from __future__ import annotations

from pathlib import Path

from dsrs.classifiers.adapters import Adapter, ModelOptions
from dsrs.classifiers.base import Classifier, checked_shape
from dsrs.classifiers.tensor_passes import imported_torch
from dsrs.classifiers.torch_module import from_torch
from dsrs.classifiers.weights import read_weights, unwrapped, with_weights
from dsrs.errors import ClassifierError, InvalidInput
from dsrs.networks import NETWORKS, build_network


def from_network(name: str, options: ModelOptions) -> Classifier:
    """A classifier from a network of `dsrs.networks.NETWORKS`, which needs `weights`.

    `num_classes` are by default as many as the last layer in the file has. `mean` and `std` are
    those that the images are normalised by, where the file does not say them.
    """
    if options.weights is None:
        raise InvalidInput(f"{name} is a network without weights; give their file as `weights`")
    file, shape = Path(options.weights), checked_shape(options.shape_of(name))
    imported_torch()
    tensors, classes = read_weights(file), options.num_classes
    if classes is None:
        state = build_network(name, shape, 1).state_dict()
        last = list(state)[-1]  # the bias of the last layer: one number for each class
        bias = unwrapped(tensors, state).tensors.get(last)
        if bias is None or bias.dim() != 1:
            raise ClassifierError(
                f"{file.name} has no weights {last!r} of the last layer of {name}; "
                "is it for another network?"
            )
        classes = len(bias)
    module = with_weights(
        build_network(name, shape, classes),
        tensors,
        f"the weights of {file.name} and {name}",
        options.mean,
        options.std,
    )
    names = ("bounds", "engine", "precision", "threads", "device")
    return from_torch(
        module, shape, classes, **options.chosen(*names), name=f"{name} with {file.name}"
    )


ADAPTER = Adapter(
    "a network by name",
    lambda name: name in NETWORKS,
    from_network,
    frozenset({"engine", "precision", "weights"}),
)
