"""A Hugging Face folder: config.json and safetensors, as `save_pretrained` writes them.

The architecture is built by transformers from the config, without any code of the folder and
without the network. preprocessor_config.json says how images are prepared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dsrs.classifiers.adapters import Adapter, ModelOptions
from dsrs.classifiers.base import Classifier, raised
from dsrs.classifiers.preparation import RESAMPLES, Preparation, square
from dsrs.classifiers.published import library, published_classifier
from dsrs.errors import ClassifierError

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

    prepared, title = preparation(name), f"{type(network).__name__} of {folder.name}"
    if not (prepared.mean or options.mean or _processor_file(folder)):
        title += f" (no {PREPROCESSORS[0]}: pixels are not normalised)"
    return published_classifier(Logits(network).eval(), title, prepared, options)


def preparation(name: str) -> Preparation:
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


ADAPTER = Adapter(
    "a Hugging Face folder",
    lambda name: (Path(name) / CONFIG_FILE).is_file(),
    from_hugging_face,
    frozenset({"engine", "precision", "mean"}),
    preparation,
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
