"""Models that are published for libraries: Hugging Face folders, timm and torchvision.

The libraries find the weights of timm and torchvision models themselves: in their caches, or on the
network where that is allowed. Nothing is fetched if a file is given as `weights`.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from dsrs.classifiers.adapters import (
    RESAMPLES,
    Adapter,
    ModelOptions,
    Preparation,
    normalisation_text,
    square,
)
from dsrs.classifiers.base import UNIT_BOUNDS, Classifier, raised
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


# ---- Hugging Face: a folder of config.json and safetensors, as `save_pretrained` writes it
# The architecture is built by transformers from the config, without any code of the folder and
# without the network. preprocessor_config.json says how images are prepared.

CONFIG_FILE, WEIGHT_FILES = "config.json", "*.safetensors"
PREPROCESSORS = ("preprocessor_config.json", "processor_config.json")
# The numbers that Pillow gives to its filters.
FILTERS = dict(enumerate(("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")))
# ConvNeXT crops below this side and stretches from it on.
LEAST_STRETCHED = 384
BYTE = 1 / 255


def from_hugging_face(name: str, options: ModelOptions) -> Classifier:
    """The image classifier in a folder."""
    folder = Path(name)
    if not any(folder.glob(WEIGHT_FILES)):
        raise ClassifierError(
            f"{folder}: expected the weights as .safetensors beside {CONFIG_FILE}, got none; "
            "save the model again with save_pretrained(folder, safe_serialization=True)"
        )
    transformers = library("transformers", "huggingface")
    try:
        network = transformers.AutoModelForImageClassification.from_pretrained(
            str(folder), local_files_only=True, use_safetensors=True, trust_remote_code=False
        )
    except Exception as error:
        raise ClassifierError(
            f"{folder}: transformers reads no image classifier from it: {raised(error)}"
        ) from error
    from dsrs.networks import Logits

    prepared, title = hugging_face_preparation(name), f"{type(network).__name__} of {folder.name}"
    if not (prepared.mean or options.mean or _processor_file(folder)):
        title += f" (no {PREPROCESSORS[0]}: pixels are not normalised)"
    return published_classifier(Logits(network).eval(), title, prepared, options)


def hugging_face_preparation(name: str) -> Preparation:
    """What the folder says of the model's inputs and classes."""
    folder = Path(name)
    config = _read(folder / CONFIG_FILE)
    file = _processor_file(folder)
    processor = {} if file is None else _read(file)
    processor = processor.get("image_processor", processor)
    frame = _frame(processor, str(folder))
    side = frame.get("crop") or frame.get("size") or config.get("image_size")
    channels = config.get("num_channels", 3)
    shape: tuple[Any, ...] = (channels, side, side)
    normalises = bool(processor) and processor.get("do_normalize", True)
    factor = processor.get("rescale_factor", BYTE)
    if not processor.get("do_rescale", True) or abs(factor - BYTE) > 1e-9:
        raise ClassifierError(
            f"{folder}: expected pixels that are scaled by 1/255, got `do_rescale` "
            f"{processor.get('do_rescale', True)} and `rescale_factor` {factor}"
        )
    return Preparation(
        input_shape=shape if all(isinstance(axis, int) for axis in shape) else None,
        mean=tuple(processor.get("image_mean") or ()) if normalises else (),
        std=tuple(processor.get("image_std") or ()) if normalises else (),
        class_names=_class_names(config),
        **frame,
    )


def _processor_file(folder: Path) -> Path | None:
    return next((folder / each for each in PREPROCESSORS if (folder / each).is_file()), None)


HUGGING_FACE = Adapter(
    "a Hugging Face folder",
    lambda name: (Path(name) / CONFIG_FILE).is_file(),
    from_hugging_face,
    frozenset({"engine", "precision", "mean"}),
    hugging_face_preparation,
)


def _frame(processor: Mapping[str, Any], title: str) -> dict[str, Any]:
    """size, crop, resample and stretch of a `Preparation`."""
    frame: dict[str, Any] = {}
    if processor.get("do_center_crop") and "crop_size" in processor:
        frame["crop"] = square(processor["crop_size"], title)
    size = processor.get("size")
    if not processor.get("do_resize", bool(size)) or size is None:
        return frame
    shorter = size.get("shortest_edge") if isinstance(size, Mapping) else None
    whole = square(size if shorter is None else shorter, title)
    share = processor.get("crop_pct")
    if share and whole < LEAST_STRETCHED:
        frame |= {"size": int(whole / share), "crop": whole}
    else:
        cropped = shorter is not None or (not isinstance(size, Mapping) and "crop" in frame)
        frame |= {"size": whole, "stretch": bool(share) or not cropped}
    resample = FILTERS.get(processor.get("resample", 2), "bilinear")
    return frame | {"resample": resample if resample in RESAMPLES else "bilinear"}


def _class_names(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the classes in their order, unless they are the library's own placeholders."""
    names = config.get("id2label")
    if not isinstance(names, Mapping):
        return ()
    ordered = [names.get(str(number)) for number in range(len(names))]
    if any(not isinstance(each, str) for each in ordered):
        return ()
    placeholders = [f"LABEL_{number}" for number in range(len(names))]
    return () if ordered == placeholders else tuple(map(str, ordered))


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ClassifierError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(content, dict):
        raise ClassifierError(f"{path}: expected a JSON object, got {type(content).__name__}")
    return content


# ---- `timm:NAME`

TIMM_PREFIX = "timm:"


def from_timm(name: str, options: ModelOptions) -> Classifier:
    """The classifier `timm:resnet18.a1_in1k`; `num_classes` is for `weights` of your own."""
    architecture = name.removeprefix(TIMM_PREFIX)
    classes = {} if options.num_classes is None else {"num_classes": options.num_classes}
    timm = library("timm", "timm")
    try:
        network = timm.create_model(architecture, pretrained=options.weights is None, **classes)
    except Exception as error:
        near = timm.list_models(f"*{architecture.partition('.')[0]}*")[:4]
        hint = f"; timm knows {', '.join(near)}" if near and architecture not in near else ""
        way = "; give the weights as a file (`weights`)" if architecture in near else ""
        raise ClassifierError(
            f"timm has not made {architecture!r}: {raised(error)}{hint}{way}"
        ) from error
    config = library("timm.data", "timm").resolve_model_data_config(network)
    return published_classifier(network.eval(), name, _of_timm(config, name), options)


def timm_preparation(name: str) -> Preparation | None:
    """What timm knows of the inputs of a model, without making it; None if it does not know it."""
    config = library("timm.models", "timm").get_pretrained_cfg(name.removeprefix(TIMM_PREFIX))
    if config is None:
        return None
    known = ("input_size", "mean", "std", "crop_pct", "crop_mode", "interpolation", "label_names")
    return _of_timm({each: getattr(config, each, None) for each in known}, name)


TIMM = Adapter(
    "timm:NAME",
    lambda name: name.startswith(TIMM_PREFIX),
    from_timm,
    frozenset({"engine", "precision", "weights", "mean"}),
    timm_preparation,
)


def _of_timm(config: dict[str, Any], title: str) -> Preparation:
    """timm's evaluation transform: the shorter side to side / crop_pct, the middle of it kept."""
    shape = tuple(config["input_size"])
    side = square(list(shape[1:]), title)
    mode = config.get("crop_mode") or "center"
    if mode not in ("center", "squash"):
        raise ClassifierError(
            f"{title} wants its images in the crop mode {mode!r}, which is not known here; "
            "give arrays, or images of the right size"
        )
    resample = config.get("interpolation") or "bicubic"
    return Preparation(
        input_shape=shape,
        mean=tuple(config["mean"]),
        std=tuple(config["std"]),
        size=math.floor(side / (config.get("crop_pct") or 0.875)),
        crop=side,
        resample=resample if resample in RESAMPLES else "bicubic",
        stretch=mode == "squash",
        class_names=tuple(config.get("label_names") or ()),
    )


# ---- `torchvision:NAME`

TORCHVISION_PREFIX = "torchvision:"
MODELS = ("torchvision.models", "imagenet")  # the module, and the extra that brings it


def from_torchvision(name: str, options: ModelOptions) -> Classifier:
    """The classifier `torchvision:resnet50`; `num_classes` is for `weights` of your own."""
    architecture = name.removeprefix(TORCHVISION_PREFIX)
    published = _published_weights(architecture)
    classes = {} if options.num_classes is None else {"num_classes": options.num_classes}
    try:
        network = library(*MODELS).get_model(
            architecture, weights=published if options.weights is None else None, **classes
        )
    except Exception as error:
        raise ClassifierError(f"torchvision has not made {name!r}: {raised(error)}") from error
    return published_classifier(network.eval(), name, _of_torchvision(published, name), options)


def torchvision_preparation(name: str) -> Preparation:
    """What torchvision knows of the inputs of a model, without making it."""
    return _of_torchvision(_published_weights(name.removeprefix(TORCHVISION_PREFIX)), name)


TORCHVISION = Adapter(
    "torchvision:NAME",
    lambda name: name.startswith(TORCHVISION_PREFIX),
    from_torchvision,
    frozenset({"engine", "precision", "weights", "mean"}),
    torchvision_preparation,
)


def _of_torchvision(weights: Any, title: str) -> Preparation:
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


def _published_weights(architecture: str) -> Any:
    """The default weights of a classifier by name, as torchvision lists them."""
    try:
        weights = library(*MODELS).get_model_weights(architecture).DEFAULT
        weights.transforms().crop_size  # noqa: B018  (detection and video models have none)
    except (ValueError, KeyError, AttributeError) as error:
        raise ClassifierError(
            f"torchvision has no image classifier {architecture!r} with weights: {raised(error)}"
        ) from error
    return weights
