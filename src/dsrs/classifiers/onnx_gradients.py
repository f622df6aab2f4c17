"""Gradients and weights of an ONNX model, made when they are first asked for.

They need PyTorch, and every operator of the graph in it (onnx_module.py). Where something is
missing the model stays what it is without them, and the reason is remembered.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.base import ScoreGradient
from dsrs.classifiers.batch_statistics import with_normalisations
from dsrs.classifiers.callable import CallableClassifier, TorchWeights
from dsrs.classifiers.tensor_passes import imported_torch, score_gradient
from dsrs.errors import ClassifierError, MissingExtra

LOG = logging.getLogger("dsrs.classifiers")


def torch_weights(made: CallableClassifier, title: str) -> TorchWeights:
    """The weights in PyTorch of a classifier that has its graph.

    Args:
        made: the classifier, run by ONNX Runtime.
        title: what messages call it.
    """

    def module_of_graph(change: Callable[[bytes], bytes]) -> Any:
        imported_torch()
        from dsrs.classifiers.onnx_module import module_of

        assert made.graph is not None
        content = change(made.graph())
        return module_of(content, made.forward, made.input_shape, made.bounds, title)

    def trainable(clean: Sequence[NDArray[np.float32]]) -> Any:
        return module_of_graph(lambda content: with_normalisations(content, clean))

    module = once(lambda: module_of_graph(lambda content: content))
    return TorchWeights(module, trainable=trainable)


def later_gradient(
    weights: TorchWeights, device: str, title: str
) -> Callable[[], ScoreGradient | None]:
    """Makes the function that back-propagates through the module of these weights, or None.

    Args:
        weights: of the model.
        device: where ONNX Runtime runs it; PyTorch does so too, where it can.
        title: what messages call the model.
    """

    def make() -> ScoreGradient | None:
        try:
            module = weights.module()
        except (ClassifierError, MissingExtra) as error:
            level = logging.DEBUG if isinstance(error, MissingExtra) else logging.INFO
            LOG.log(level, "%s has no gradients: %s", title, error)
            return None
        torch = imported_torch()
        if device.startswith("cuda") and torch.cuda.is_available():
            return score_gradient(copy.deepcopy(module).to(device), torch.device(device), title)
        return score_gradient(module, torch.device("cpu"), title)

    found: Callable[[], ScoreGradient | None] = once(make)
    return found


def once(make: Callable[[], Any]) -> Callable[[], Any]:
    """A function that makes something at its first call, and returns or raises the same again."""
    lock, results = Lock(), list[Any]()

    def made() -> Any:
        with lock:
            if not results:
                try:
                    results.append(make())
                except (ClassifierError, MissingExtra) as error:
                    results.append(error)
        if isinstance(results[0], (ClassifierError, MissingExtra)):
            raise results[0]
        return results[0]

    return made
