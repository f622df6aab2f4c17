"""Statistics of batch normalisation, estimated again from inputs under noise, and frozen.

A network that was trained on clean images normalises the features of noisy ones by the mean and
the variance of clean ones, which they no longer have. Here every normalisation gets new ones, layer
by layer: later layers see what the earlier ones answer with their new statistics. Where an export
has folded the normalisation into the convolutions, one is put behind each convolution first.

Given images are few, and their own features differ from those of the data that the network was
trained on by more than what noise does. So every normalisation is first written with the moments
of the given images without noise, its scale and shift changed such that it does what it did. Then
these moments move by NEW_SHARE of the way to those of the same images under noise: what changes is
what noise changes.

The given inputs must not be among those that are certified; afterwards the statistics are
constants of the model, which answers each row by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.onnx_graph import (
    bytes_of,
    imported_onnx,
    model_of_bytes,
    only_input,
    opset_of,
)
from dsrs.classifiers.onnx_session import answers_of
from dsrs.errors import ClassifierError

Batches = Sequence[NDArray[np.float32]]
Moment = NDArray[np.float64]  # of each channel
Moments = tuple[Moment, Moment]  # mean and variance

NORMALISATION = "BatchNormalization"
DEFAULT_EPSILON = 1e-5  # of the operator
AXES_ARE_INPUTS = 18  # of ReduceMean, since this opset
LEAST_VARIANCE = 1e-12
NEW_SHARE = 0.5


def with_statistics(content: bytes, noisy: Batches, clean: Batches) -> bytes:
    """The ONNX model with statistics for inputs like `noisy`, as a new file.

    Args:
        content: the model, with an open batch axis.
        noisy: batches of inputs as the model will see them: under noise, behind its denoiser. The
            moments of a batch are taken together, so each should be large.
        clean: the same inputs without noise.
    """
    check_statistics_exist(content)
    model = model_of_bytes(content)
    if not _normalisations(model):
        _add_normalisations(model)
    nodes, before = _normalisations(model), _recentred(model, clean)
    after = _moments(model, noisy, share=NEW_SHARE)
    for node, old, new in zip(nodes, before, after, strict=True):
        mean, variance = (
            (1 - NEW_SHARE) * a + NEW_SHARE * b for a, b in zip(old, new, strict=True)
        )
        _give(model, node, {3: mean, 4: variance})
    return bytes_of(model)


def check_statistics_exist(content: bytes) -> None:
    """Raise ClassifierError where an ONNX model has no statistics to estimate again."""
    model = model_of_bytes(content)
    if only_input(model).type.tensor_type.shape.dim[0].dim_value:
        raise ClassifierError(
            "statistics are estimated from many rows at once, but the model was exported for a "
            "fixed number of rows: export it with an open batch axis"
        )
    if not any(node.op_type in (NORMALISATION, "Conv") for node in model.graph.node):
        raise ClassifierError(
            "there are no statistics to estimate: the model has neither batch normalisation "
            "nor convolutions"
        )


def _normalisations(model: Any) -> list[Any]:
    return [node for node in model.graph.node if node.op_type == NORMALISATION]


def with_normalisations(content: bytes, clean: Batches) -> bytes:
    """The ONNX model with the normalisation back that an export folded, for training.

    Where the model has none, one is put behind each convolution that changes no answer, with the
    moments of its features on `clean`.
    """
    model = model_of_bytes(content)
    if _normalisations(model) or only_input(model).type.tensor_type.shape.dim[0].dim_value:
        return content
    _add_normalisations(model)
    if _normalisations(model):
        _recentred(model, clean)
    return bytes_of(model)


def _add_normalisations(model: Any) -> None:
    """Put a normalisation that does nothing behind every convolution."""
    onnx = imported_onnx()
    nodes: list[Any] = []
    for node in model.graph.node:
        nodes.append(node)
        if node.op_type != "Conv":
            continue
        output = node.output[0]
        node.output[0] = f"{output}_before"
        weights = [f"{output}_weight{i}" for i in range(1, 5)]  # scale, shift, mean, variance
        inputs = [node.output[0], *weights]
        nodes.append(
            onnx.helper.make_node(NORMALISATION, inputs, [output], epsilon=DEFAULT_EPSILON)
        )
    kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(kept)
    for node in _normalisations(model):
        ones = np.ones(_channels(model, node.input[0]))
        scale = np.sqrt(1 + DEFAULT_EPSILON) * ones
        _give(model, node, {1: scale, 2: 0 * ones, 3: 0 * ones, 4: ones})


def _recentred(model: Any, clean: Batches) -> list[Moments]:
    """Write every normalisation with the moments on `clean`, such that it does what it did."""
    nodes, moments = _normalisations(model), _moments(model, clean, share=0.0)
    written = []
    for node, (mean, variance) in zip(nodes, moments, strict=True):
        kept = np.maximum(variance, LEAST_VARIANCE)
        scale, shift, old_mean, old_variance = _weights(model, node)
        given = [attribute.f for attribute in node.attribute if attribute.name == "epsilon"]
        epsilon = given[0] if given else DEFAULT_EPSILON
        slope = scale / np.sqrt(old_variance + epsilon)
        weights = {1: slope * np.sqrt(kept + epsilon), 2: shift + slope * (mean - old_mean)}
        _give(model, node, weights | {3: mean, 4: kept})
        written.append((mean, kept))
    return written


def _weights(model: Any, node: Any) -> list[Moment]:
    """Scale, shift, mean and variance of a normalisation."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    if not all(name in constants for name in node.input[1:5]):
        raise ClassifierError("the model computes the weights of its normalisations: not supported")
    read = imported_onnx().numpy_helper.to_array
    return [read(constants[name]).astype(np.float64) for name in node.input[1:5]]


def _channels(model: Any, output: str) -> int:
    """The channels that the convolution with this output has."""
    (node,) = (each for each in model.graph.node if output in each.output)
    shapes = {tensor.name: tensor.dims for tensor in model.graph.initializer}
    if node.input[1] not in shapes:
        raise ClassifierError("the model computes the weights of its convolutions: not supported")
    return int(shapes[node.input[1]][0])


def _moments(model: Any, batches: Batches, *, share: float) -> list[Moments]:
    """Mean and variance, over the batches, of what each normalisation is given.

    While they are taken the normalisations use `share` of those of each batch and the rest of their
    own.
    """
    onnx = imported_onnx()
    working = model_of_bytes(model.SerializeToString())
    make, nodes, asked = onnx.helper.make_node, [], []
    shares = [
        _constant(working, name, [part]) for name, part in (("new", share), ("old", 1 - share))
    ]
    for node in model.graph.node:
        copied = onnx.NodeProto.FromString(node.SerializeToString())
        if node.op_type == NORMALISATION:
            source, title = node.input[0], node.output[0]
            names = [f"{title}_{part}" for part in ("mean", "centred", "square", "variance")]
            mean, centred, square, variance = names
            nodes += _mean_nodes(working, source, mean)
            nodes += [make("Sub", [source, mean], [centred])]
            nodes += [make("Mul", [centred, centred], [square])]
            nodes += _mean_nodes(working, square, variance)
            for place, name in ((3, mean), (4, variance)):
                flat, new, old, mixed = (
                    f"{name}_{part}" for part in ("flat", "new", "old", "mixed")
                )
                nodes.append(make("Reshape", [name, _constant(working, "flat", [-1])], [flat]))
                nodes.append(make("Mul", [flat, shares[0]], [new]))
                nodes.append(make("Mul", [node.input[place], shares[1]], [old]))
                nodes.append(make("Add", [new, old], [mixed]))
                copied.input[place] = mixed
                asked.append(flat)
        nodes.append(copied)
    del working.graph.node[:]
    working.graph.node.extend(nodes)
    del working.graph.value_info[:]
    working.graph.output.extend(
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in asked
    )
    answers = [answers_of(bytes_of(working), asked, batch) for batch in batches]
    means = [
        np.asarray(np.mean(parts, axis=0, dtype=np.float64)) for parts in zip(*answers, strict=True)
    ]
    return list(zip(means[::2], means[1::2], strict=True))


def _mean_nodes(model: Any, source: str, result: str) -> list[Any]:
    """The mean over everything but the channels, which are the second of four axes."""
    make = imported_onnx().helper.make_node
    if opset_of(model) < AXES_ARE_INPUTS:
        return [make("ReduceMean", [source], [result], axes=[0, 2, 3])]
    return [make("ReduceMean", [source, _constant(model, "axes", [0, 2, 3])], [result])]


def _constant(model: Any, name: str, values: Sequence[float]) -> str:
    """The name of a constant of whole numbers or of floats, added once."""
    whole = f"statistics_{name}"
    if all(tensor.name != whole for tensor in model.graph.initializer):
        numbers = np.array(values)
        kind = np.int64 if numbers.dtype.kind == "i" else np.float32
        tensor = imported_onnx().numpy_helper.from_array(numbers.astype(kind), whole)
        model.graph.initializer.append(tensor)
    return whole


def _give(model: Any, node: Any, weights: dict[int, Moment]) -> None:
    """Set these inputs of a node to constants of its own."""
    for place, values in weights.items():
        name = f"{node.output[0]}_statistic{place}"
        kept = [tensor for tensor in model.graph.initializer if tensor.name != name]
        if len(kept) < len(model.graph.initializer):
            del model.graph.initializer[:]
            model.graph.initializer.extend(kept)
        tensor = imported_onnx().numpy_helper.from_array(values.astype(np.float32), name)
        model.graph.initializer.append(tensor)
        node.input[place] = name
