"""`timm:NAME`: a model of PyTorch Image Models with its published weights, or with a file of them.

timm itself finds the weights: in its cache, or on the network where it is allowed to. Nothing is
fetched if a file is given as `weights`.
"""

from __future__ import annotations

import math
from typing import Any

from dsrs.classifiers.adapters import Adapter, ModelOptions
from dsrs.classifiers.base import Classifier, raised
from dsrs.classifiers.preparation import RESAMPLES, Preparation, square
from dsrs.classifiers.published import library, published_classifier
from dsrs.errors import ClassifierError

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
    return published_classifier(network.eval(), name, _preparation(config, name), options)


def preparation(name: str) -> Preparation | None:
    """What timm knows of the inputs of a model, without making it; None if it does not know it."""
    config = library("timm.models", "timm").get_pretrained_cfg(name.removeprefix(TIMM_PREFIX))
    if config is None:
        return None
    known = ("input_size", "mean", "std", "crop_pct", "crop_mode", "interpolation", "label_names")
    return _preparation({each: getattr(config, each, None) for each in known}, name)


ADAPTER = Adapter(
    "timm:NAME",
    lambda name: name.startswith(TIMM_PREFIX),
    from_timm,
    frozenset({"engine", "precision", "weights", "mean"}),
    preparation,
)


def _preparation(config: dict[str, Any], title: str) -> Preparation:
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
