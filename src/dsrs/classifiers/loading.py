"""The entry points for models and denoisers given by name: the name says what reads them."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from dsrs.classifiers.adapters import Adapter, ModelOptions, Preparation, by_suffix, check_options
from dsrs.classifiers.base import (
    UNIT_BOUNDS,
    Classifier,
    checked_batch,
    checked_bounds,
    checked_shape,
)
from dsrs.classifiers.callable import (
    CallableClassifier,
    Forward,
    TorchWeights,
    denoised,
    probe_batch,
    refuse_other_answers,
)
from dsrs.classifiers.composed import devices_of, ensemble, normalised, on_each, scaled
from dsrs.classifiers.denoisers import BlockCosine, Clip, Denoiser, MildBlockCosine, Rows
from dsrs.classifiers.onnx_file import ONNX_FILE, onnx_function
from dsrs.classifiers.onnx_graph import model_of_file
from dsrs.classifiers.published import HUGGING_FACE, TIMM, TORCHVISION
from dsrs.classifiers.python_object import PYTHON_FILE, PYTHON_OBJECT, from_object
from dsrs.classifiers.tensor_passes import imported_torch
from dsrs.classifiers.torch_file import TORCH_FILE, refusal
from dsrs.classifiers.torch_module import from_torch
from dsrs.classifiers.weights import read_weights, unwrapped, with_weights
from dsrs.errors import ClassifierError, InvalidInput, MissingExtra
from dsrs.networks import NETWORKS, build_network

# ---- Named networks of this package with weights from a file: `resnet-110` and a checkpoint


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


NAMED_NETWORK = Adapter(
    "a network by name",
    lambda name: name in NETWORKS,
    from_network,
    frozenset({"engine", "precision", "weights"}),
)

# ---- Folders that hold model.onnx, as `dsrs adapt` and `dsrs train` write them

MODEL_NAME, MODEL_WEIGHTS, MODEL_CARD = "model.onnx", "model.safetensors", "card.json"


def _load_folder(name: str, options: ModelOptions) -> Classifier:
    folder = Path(name)
    made = ONNX_FILE.load(str(folder / MODEL_NAME), options)
    if (
        isinstance(made, CallableClassifier)
        and (weights := _weights_beside(folder, made)) is not None
    ):
        made = replace(made, weights=weights)
    return made


def _weights_beside(folder: Path, made: CallableClassifier) -> TorchWeights | None:
    """The weights that `dsrs train` keeps beside the model, where its network has a name."""
    try:
        architecture = str(json.loads((folder / MODEL_CARD).read_text("utf-8"))["architecture"])
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        return None
    if architecture not in NETWORKS or not (folder / MODEL_WEIGHTS).is_file():
        return None

    def module() -> Any:
        network = build_network(architecture, made.input_shape, made.num_classes)
        title = f"the weights of {folder.name} and {architecture}"
        return with_weights(network, read_weights(folder / MODEL_WEIGHTS), title)

    return TorchWeights(module, architecture)


MODEL_FOLDER = Adapter(
    "a folder with model.onnx", lambda name: (Path(name) / MODEL_NAME).is_file(), _load_folder
)

# ---- Denoisers in ONNX files, such as `dsrs adapt` trains

LOG = logging.getLogger("dsrs.classifiers")
# What `dsrs adapt` keeps beside the ONNX file of a denoiser that it trained.
DENOISER_WEIGHTS, DENOISER_CARD = "denoiser.safetensors", "denoiser.json"


class NetworkDenoiser(Denoiser):
    """A network of one float32 input and one output of the same shape."""

    def __init__(self, path: Path, forward: Forward, fingerprint: str) -> None:
        self._path, self._forward = path, forward
        self.name = path.name
        self.fingerprint = f"denoiser:{fingerprint}"

    @classmethod
    def read(cls, path: Path, input_shape: tuple[int, ...]) -> NetworkDenoiser:
        """The denoiser of a file, tried once on inputs of this shape."""
        made = cls(path, *onnx_function(path, input_shape))
        made.rows(probe_batch(input_shape, UNIT_BOUNDS))
        return made

    def rows(self, batch: Rows) -> Rows:
        answer = self._forward(batch)
        if answer.shape != batch.shape or answer.dtype != np.float32:
            raise ClassifierError(
                f"the denoiser {self.name} must return float32 of the shape of its input, "
                f"{batch.shape}, got {answer.dtype} of shape {answer.shape}"
            )
        checked_batch(answer, batch.shape[1:])
        return np.asarray(answer)

    def module(self) -> Any | None:
        """The same network in PyTorch where its weights are kept beside the file, or None."""
        try:
            card = json.loads((self._path.parent / DENOISER_CARD).read_text("utf-8"))
            shape, bounds = tuple(card["input_shape"]), tuple(card["bounds"])
            return self._checked_module(shape, bounds, card["settings"]["channels"])
        except (OSError, ValueError, RecursionError, TypeError, KeyError, ImportError) as error:
            LOG.info("%s has no weights for PyTorch beside it: %s", self.name, error)
        except (ClassifierError, InvalidInput, MissingExtra) as error:
            LOG.warning("%s is run as ONNX alone: %s", self.name, error)
        return None

    def _checked_module(
        self, shape: tuple[int, ...], bounds: tuple[float, float], channels: int
    ) -> Any:
        """The network with the weights beside the file, if it answers as the file does."""
        import torch

        from dsrs.networks import ResidualDenoiser

        tensors = read_weights(self._path.parent / DENOISER_WEIGHTS)
        network = ResidualDenoiser(shape, bounds, channels)
        module = with_weights(network, tensors, f"the weights beside {self.name}")

        def answers(batch: Rows) -> Rows:
            with torch.no_grad():
                return np.asarray(module(torch.from_numpy(batch)))

        complaint = f"{DENOISER_WEIGHTS} answers differently"
        refuse_other_answers(answers, self.rows, probe_batch(shape, bounds), complaint)
        return module

    def graph(self) -> Any:
        return model_of_file(self._path)


# ---- The denoisers by name, as `--denoise` takes them

# Makes a denoiser of inputs of this shape, in these bounds.
Maker = Callable[[tuple[int, ...], tuple[float, float]], Denoiser]

DENOISERS: dict[str, Maker] = {each.name: each for each in (Clip, BlockCosine, MildBlockCosine)}


def register_denoiser(name: str, maker: Maker) -> None:
    """Let `denoiser_from` and `--denoise` know another denoiser."""
    DENOISERS[name] = maker


def denoiser_from(
    text: str | Path, input_shape: tuple[int, ...], bounds: tuple[float, float]
) -> Denoiser:
    """The denoiser that `text` names: one of `DENOISERS`, or an ONNX file from images to images.

    Args:
        text: `clip`, `dct`, `dct-mild` or the name of a file that ends in .onnx.
        input_shape: the shape of one input.
        bounds: the least and the greatest value of a clean input.
    """
    name = str(text)
    if name in DENOISERS:
        return DENOISERS[name](input_shape, bounds)
    if Path(name).suffix.lower() == ".onnx":
        return NetworkDenoiser.read(Path(name), input_shape)
    raise InvalidInput(
        f"`denoise` must be one of {', '.join(DENOISERS)} or a file that ends in .onnx, "
        f"got {name!r}"
    )


# ---- All adapters, and how a model is loaded by them

# The first one that accepts a name reads the model.
ADAPTERS: list[Adapter] = [
    ONNX_FILE,
    TORCH_FILE,
    TIMM,
    TORCHVISION,
    HUGGING_FACE,
    PYTHON_FILE,
    PYTHON_OBJECT,
    NAMED_NETWORK,
    MODEL_FOLDER,
]
# TorchScript or pickles, whatever they are called.
is_refused = by_suffix(
    *(".ts", ".jit", ".torchscript", ".pt", ".pth"),
    *(".pkl", ".pickle", ".joblib", ".ckpt", ".bin"),
)


def register(adapter: Adapter) -> None:
    """Let `load_classifier` and the command line read another kind of model.

    Args:
        adapter: which names it accepts, and how it loads a model.
    """
    ADAPTERS.append(adapter)


def load_classifier(spec: str | Path | Sequence[str | Path], **options: Any) -> Classifier:
    """The classifier that `spec` names, such as net.onnx, package.module:name or timm:resnet18.

    Args:
        spec: the name of a file, of a folder, of Python code, of a published model, or of a network
            of `dsrs.networks`; several names are an ensemble, which averages the models' scores.
        options: the fields of `ModelOptions`, such as `input_shape=(1, 28, 28)`.
    """
    known = {field.name for field in fields(ModelOptions)}
    for option in options.keys() - known:
        raise InvalidInput(
            f"load_classifier has no option `{option}`; the options are {', '.join(sorted(known))}"
        )
    chosen = ModelOptions(**options)
    names = [str(spec)] if isinstance(spec, str | Path) else [str(each) for each in spec]
    if len(names) > 1 and chosen.weights is not None:
        raise InvalidInput("`weights` are those of one model, and cannot be used with an ensemble")

    def load(device: str) -> Classifier:
        own = replace(chosen, device=device)
        members = [_loaded(name, _in_own_units(own)) for name in names]
        return _completed(members[0] if len(members) == 1 else ensemble(members), own)

    return on_each(chosen.device, load)


def _loaded(name: str, chosen: ModelOptions) -> Classifier:
    """The model of one name, with the normalisation that it wants."""
    adapter = _adapter_of(name)
    check_options(adapter, name, chosen, ADAPTERS)
    # Weights may stand behind a normalisation of their own, which the adapter must then know of.
    inside = "mean" in adapter.takes or chosen.weights is not None
    if inside:
        return adapter.load(name, chosen)
    return _behind_normalisation(lambda options: adapter.load(name, options), chosen)


def classifier_of(made: object, name: str, options: ModelOptions) -> Classifier:
    """Return an object as a classifier, with what the options put before it.

    Args:
        made: the object.
        name: what messages and descriptions call it.
        options: how to read it.
    """
    inside, several = options.weights is not None, len(devices_of(options.device)) > 1

    def load(own: ModelOptions) -> Classifier:
        # A PyTorch module is moved to its device, and can be on one only.
        mine = copy.deepcopy(made) if several else made
        return from_object(mine, name, own)

    def there(device: str) -> Classifier:
        own = _in_own_units(replace(options, device=device))
        return _completed(load(own) if inside else _behind_normalisation(load, own), options)

    return on_each(options.device, there)


def _in_own_units(options: ModelOptions) -> ModelOptions:
    """The options of a model that does not know of scaled units."""
    scaling = options.scaling
    return options if scaling is None else replace(options, bounds=scaling.own_bounds)


def _completed(made: Classifier, options: ModelOptions) -> Classifier:
    """The model with the denoiser and the scaling before it that the options ask for."""
    if options.denoise is not None:
        made = denoised(made, denoiser_from(options.denoise, made.input_shape, made.bounds))
    return made if options.scaling is None else scaled(made, options.scaling)


def _behind_normalisation(
    load: Callable[[ModelOptions], Classifier], options: ModelOptions
) -> Classifier:
    """What `load` makes, behind (x - mean) / std where the options ask for that."""
    if not (options.mean or options.std):
        return load(options)
    # The model knows its inputs as they are after normalisation, where the bounds are others.
    inner = load(replace(options, mean=(), std=(), bounds=UNIT_BOUNDS))
    bounds = checked_bounds(options.bounds)
    return normalised(inner, options.mean or (0.0,), options.std or (1.0,), bounds)


def runs_code(spec: str | Path) -> bool:
    """Return whether Python code is run to load the model of this name."""
    return _adapter_of(str(spec)).runs_code


def preparation_of(spec: str | Path) -> Preparation | None:
    """Return how the publisher of a model prepares its inputs; None where that is not known."""
    return _adapter_of(str(spec)).prepares(str(spec))


def _adapter_of(name: str) -> Adapter:
    """The adapter that accepts this name, or ClassifierError."""
    for adapter in ADAPTERS:
        if adapter.accepts(name):
            return adapter
    if is_refused(name):
        raise ClassifierError(refusal(Path(name)))
    if by_suffix(".safetensors")(name):
        raise ClassifierError(
            f"{Path(name).name} holds weights without a model: name the code that builds the "
            "model (package.module:name) or a network, and give this file as `weights`"
        )
    if (Path(name) / "adapted.json").is_file():
        raise ClassifierError(
            f"{name} was adapted from a model that is no file: name that model, with the denoiser "
            "that adapted.json has under `denoise`, and take tuned.json as the law"
        )
    forms = ", ".join(adapter.form for adapter in ADAPTERS)
    hint = "; a folder is a model if it holds model.onnx or, of Hugging Face, config.json"
    shown = hint if Path(name).is_dir() else ""
    raise ClassifierError(f"{name!r} is not a known kind of model: expected {forms}{shown}")
