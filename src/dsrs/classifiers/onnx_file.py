"""ONNX models, run by ONNX Runtime."""

from __future__ import annotations

import copy
import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.adapters import Adapter, ModelOptions, by_suffix
from dsrs.classifiers.base import UNIT_BOUNDS, Classifier, ScoreGradient, failure
from dsrs.classifiers.batch_statistics import with_normalisations
from dsrs.classifiers.callable import (
    CallableClassifier,
    Forward,
    TorchWeights,
    from_callable,
    in_fixed_batches,
    in_numpy,
    probe_batch,
    refuse_other_answers,
    remembered,
)
from dsrs.classifiers.onnx_graph import bytes_of, in_front_of, model_of_bytes, model_of_file
from dsrs.classifiers.onnx_session import (
    bound_noise,
    external_weights,
    opened_session,
    runtime_failures,
)
from dsrs.classifiers.tensor_passes import imported_torch, score_gradient
from dsrs.errors import ClassifierError, InvalidInput, MissingExtra, ShapeNeeded

if TYPE_CHECKING:
    from dsrs.classifiers.denoisers import Denoiser


LOG = logging.getLogger("dsrs.classifiers")

# ---- Gradients and weights, made when they are first asked for
# They need PyTorch, and every operator of the graph in it (onnx_module.py). Where something is
# missing the model stays what it is without them, and the reason is remembered.


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


# ---- The classifier


@remembered
def from_onnx(
    model: str | Path | bytes,
    *,
    input_shape: tuple[int, ...] | None = None,
    num_classes: int | None = None,
    bounds: tuple[float, float] = UNIT_BOUNDS,
    threads: int = 1,
    device: str = "cpu",
    output: str | None = None,
    name: str | None = None,
    fingerprint: str | None = None,
) -> CallableClassifier:
    """A classifier from an ONNX file, or from the bytes of one.

    It holds one session, which several threads may run at once.

    Args:
        model: the name of the file, or its content.
        input_shape: the shape of one input, needed where the model leaves it open.
        num_classes: the number of classes, needed where the model answers class ids.
        bounds: the least and the greatest value of a clean input.
        threads: threads inside of an operator. One classifier for each worker with one thread is
            the faster way to use all cores.
        device: "cpu", "cuda" or "cuda:1".
        output: the output with the logits or class ids, needed where there are several.
        name: what the description calls the model.
        fingerprint: a hash of the model, where the caller knows a better one than the file's.
    """
    if threads < 1:
        raise InvalidInput(f"`threads` must be at least 1, got {threads}")
    title = name or ("ONNX model" if isinstance(model, bytes) else f"ONNX {Path(model).name}")
    if not isinstance(model, bytes) and not Path(model).is_file():
        raise ClassifierError(f"there is no model file {str(model)!r}")
    # Before anything of the model is read by the runtime: it looks where the weights lie.
    identity = fingerprint or _fingerprint(model)
    session = opened_session(model, title, threads, device)
    source = _only_input(session, title)
    shape = _input_shape(source, input_shape, title)
    target = _chosen_output(session, output, title)
    forward = _forward(session, source.name, target, title)
    if isinstance(source.shape[0], int):
        forward = in_fixed_batches(forward, source.shape[0])
    made = from_callable(
        forward,
        shape,
        num_classes,
        bounds=bounds,
        name=f"{title} ({device}, onnxruntime)",
        fingerprint=identity,
    )
    if not isinstance(source.shape[0], int):
        noisy = bound_noise(session, (source.name, target), made, device)
        made = replace(made, noisy=noisy)
    rebuilt = partial(from_onnx, input_shape=shape, threads=threads, device=device)
    whole = replace(made, graph=lambda: _graph(model, target))
    weights = torch_weights(whole, title)
    whole = replace(whole, weights=weights, later_gradient=later_gradient(weights, device, title))
    return replace(whole, behind=lambda denoiser: _behind(whole, denoiser, rebuilt, title))


def onnx_function(path: Path, input_shape: tuple[int, ...]) -> tuple[Forward, str]:
    """What an ONNX file of one input and one output answers to batches, and its fingerprint."""
    title = f"ONNX {path.name}"
    if not path.is_file():
        raise ClassifierError(f"there is no model file {str(path)!r}")
    identity = _fingerprint(path)
    session = opened_session(path, title, 1, "cpu")
    source = _only_input(session, title)
    _input_shape(source, input_shape, title)
    forward = _forward(session, source.name, _chosen_output(session, None, title), title)
    fixed = isinstance(source.shape[0], int)
    return (in_fixed_batches(forward, source.shape[0]) if fixed else forward), identity


def _graph(model: str | Path | bytes, output: str) -> bytes:
    """The whole model as one file with this output alone."""
    whole = model_of_bytes(model) if isinstance(model, bytes) else model_of_file(Path(model))
    kept = [each for each in whole.graph.output if each.name == output]
    del whole.graph.output[:]
    whole.graph.output.extend(kept)
    return bytes_of(whole)


def _behind(
    made: CallableClassifier,
    denoiser: Denoiser,
    rebuilt: Callable[..., CallableClassifier],
    title: str,
) -> CallableClassifier:
    """The model with the denoiser in its graph; in NumPy where no graph can hold both."""
    assert made.graph is not None
    name = f"{title} behind {denoiser.name}"
    try:
        joined = rebuilt(
            in_front_of(denoiser.graph(), made.graph()),
            num_classes=made.num_classes,
            bounds=made.bounds,
            name=name,
            fingerprint=f"{made.identity} {denoiser.fingerprint}",
        )
        probes = probe_batch(made.input_shape, made.bounds)
        complaint = f"{name} answers differently as one graph"
        apart = in_numpy(made, denoiser).forward
        refuse_other_answers(joined.forward, apart, probes, complaint)
    except (ClassifierError, MissingExtra) as error:
        LOG.info("%s and %s run one after the other: %s", denoiser.name, title, error)
        return in_numpy(made, denoiser)
    return joined


def _load(name: str, options: ModelOptions) -> Classifier:
    names = ("input_shape", "num_classes", "bounds", "threads", "device", "output")
    return from_onnx(name, **options.chosen(*names))


ONNX_FILE = Adapter("net.onnx", by_suffix(".onnx"), _load, frozenset({"output"}))


def _only_input(session: Any, title: str) -> Any:
    inputs = session.get_inputs()
    if len(inputs) != 1 or inputs[0].type != "tensor(float)" or len(inputs[0].shape) < 2:
        listed = ", ".join(f"{each.name}: {each.type} {each.shape}" for each in inputs)
        raise ClassifierError(
            f"{title} must take one float32 input of shape (n, ...), it takes {listed or 'none'}; "
            "export it with one float32 input"
        )
    return inputs[0]


def _input_shape(source: Any, asked: tuple[int, ...] | None, title: str) -> tuple[int, ...]:
    declared = source.shape[1:]
    if asked is None:
        if not all(isinstance(axis, int) for axis in declared):
            raise ShapeNeeded(
                f"{title} leaves its input shape open ({source.shape}); give `input_shape`"
            )
        return tuple(declared)
    fits = len(asked) == len(declared) and all(
        not isinstance(axis, int) or axis == length
        for axis, length in zip(declared, asked, strict=True)
    )
    if not fits:
        raise ClassifierError(
            f"{title} takes inputs of shape {tuple(declared)}, but `input_shape` is {tuple(asked)}"
        )
    return tuple(asked)


def _chosen_output(session: Any, asked: str | None, title: str) -> str:
    names = [each.name for each in session.get_outputs()]
    if asked is None and len(names) == 1:
        return str(names[0])
    if asked is None or asked not in names:
        raise ClassifierError(
            f"{title} has the outputs {', '.join(names)}; "
            f"`output` must name the one with the logits or class ids, got {asked!r}"
        )
    return asked


def _forward(session: Any, source: str, target: str, title: str) -> Forward:
    failures = runtime_failures()

    def forward(batch: NDArray[np.float32]) -> Any:
        try:
            return session.run([target], {source: batch})[0]
        except failures as error:
            raise failure(error, title, batch.shape) from error

    return forward


def _fingerprint(model: str | Path | bytes) -> str:
    """The hash of the model's bytes and of its weights; refuses weights from anywhere else."""
    if isinstance(model, bytes):
        return f"sha256:{hashlib.sha256(model).hexdigest()}"
    path = Path(model)
    content = path.read_bytes()
    digest = hashlib.sha256(content)
    # Large models keep their weights in files beside the graph: these are the model as well.
    for weights in external_weights(content, path):
        if not weights.is_file():
            raise ClassifierError(f"{path.name} wants its weights in {weights}, which is no file")
        with weights.open("rb") as stream:
            while part := stream.read(1 << 20):
                digest.update(part)
    return f"sha256:{digest.hexdigest()}"
