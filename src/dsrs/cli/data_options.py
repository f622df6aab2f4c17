"""Which data and how to read it: the options that every command on a model shares."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.cli.options import Options, numbers
from dsrs.errors import DataError, InvalidInput

if TYPE_CHECKING:
    from dsrs.classifiers import Preparation, Scaling
    from dsrs.datasets import Dataset

# Data that is scaled afterwards may lie anywhere that float32 can write.
ANYWHERE = (-3.4e38, 3.4e38)
FRAME = ("size", "crop", "resample", "stretch")


def add_data_options(group: Options, split: str, required: bool, no_labels: str) -> None:
    """--data and how to read it."""
    group.add_argument(
        "--data",
        required=required,
        help=".npz, .npy, .csv, IDX file, CIFAR-10, TinyImageNet, Parquet of a Hugging Face image "
        "data set, a folder of images or one image",
    )
    group.add_argument(
        "--split", choices=("test", "train"), default=split, help="which part of the data"
    )
    group.add_argument(
        "--labels",
        help="file of labels beside an .npy or IDX file, or for a folder of images a text file "
        "with a line for each image: its path there and its class",
    )
    group.add_argument(
        "--label-column",
        metavar="NAME",
        help="column of the labels in a CSV file (default: label, class, target or y)",
    )
    group.add_argument("--no-labels", action="store_true", help=no_labels)
    group.add_argument(
        "--class-names",
        metavar="NAMES",
        help="names of the classes in the order of the model: cat,dog,bird or a file with one in "
        "each line (default: those of the model, else those of the data). Labels that are such "
        "names, or images in folders of such names, are numbered so",
    )
    _add_unit_options(group)
    _add_image_options(group)


def _add_unit_options(group: Options) -> None:
    group.add_argument(
        "--bounds",
        nargs=2,
        type=float,
        default=(0.0, 1.0),
        metavar=("LOWER", "UPPER"),
        help="units of the inputs (default: 0 1)",
    )
    group.add_argument(
        "--scale",
        metavar="UNITS",
        help="tabular data: divide each feature by its range, by its std or by its resolution in "
        "the data; by units of your own, such as 10,0.5,200; or as a JSON file or an earlier run "
        "folder says. Sigma and radii are then in these units",
    )


def _add_image_options(group: Options) -> None:
    group.add_argument(
        "--image-size",
        type=int,
        dest="size",
        help="scale and crop images to this (default: as the model's own transform has it, for "
        "timm, torchvision and Hugging Face)",
    )
    group.add_argument(
        "--image-crop",
        type=int,
        dest="crop",
        help="keep the middle square of this many pixels (after --image-size, if both are given)",
    )
    group.add_argument(
        "--image-resample",
        dest="resample",
        default="bilinear",
        metavar="FILTER",
        help="filter of --image-size: bilinear (default), bicubic, lanczos, box, hamming, nearest",
    )
    group.add_argument(
        "--image-stretch",
        dest="stretch",
        action="store_true",
        help="scale both sides to --image-size, not only the shorter one",
    )


def frame_from(arguments: argparse.Namespace) -> dict[str, Any]:
    """How images are scaled and cropped: as these options say, else as the model's publisher."""
    from dsrs.datasets import takes_frame

    given = {name: getattr(arguments, name) for name in FRAME}
    asked = given["size"] is not None or given["crop"] is not None
    if asked or arguments.model is None or not takes_frame(arguments.data):
        return given
    prepared = _prepared(arguments.model)
    if prepared is None or (prepared.size is None and prepared.crop is None):
        return given
    return {name: getattr(prepared, name) for name in FRAME}


def note_on_units(arguments: argparse.Namespace, dataset: Dataset) -> None:
    """Say how images are prepared if the model's publisher decided it, and how features are."""
    from dsrs.datasets import takes_frame

    prepared = _prepared(arguments.model)
    if prepared is not None:
        read = prepared.text if takes_frame(arguments.data) else prepared.normalisation
        print(f"note: the model's publisher says: {read}", file=sys.stderr)
    if dataset.scaling is not None:
        print(f"note: {dataset.scaling.text}; sigma and radii are in these", file=sys.stderr)


def _prepared(models: str | Sequence[str]) -> Preparation | None:
    """What is said of the inputs of a model, or of the first one of an ensemble that says it."""
    from dsrs.classifiers import preparation_of

    names = [models] if isinstance(models, str) else models
    preparations = (preparation_of(name) for name in names)
    return next((prepared for prepared in preparations if prepared is not None), None)


def class_names_from(text: str) -> tuple[str, ...]:
    """The names in a file, one in each line, or with commas between."""
    if Path(text).is_file():
        try:
            lines = Path(text).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{text}: cannot be read as names of classes: {error}") from error
        names = [line.strip() for line in lines if line.strip()]
    else:
        names = [name.strip() for name in text.split(",")]
    if len(names) < 2 or not all(names):
        raise InvalidInput(
            "--class-names must be a file with a name in each line, or names with commas between, "
            f"such as cat,dog; got {text!r}"
        )
    return tuple(names)


def scaling_from(scale: str | Mapping[str, Any], dataset: Dataset) -> Scaling:
    """What --scale says, or what a run keeps of it."""
    from dsrs.classifiers import SCALING_KINDS, Scaling

    if not isinstance(scale, str):
        return Scaling.from_dict(scale)
    rows: Any = dataset.images
    if len(dataset.input_shape) != 1:
        raise InvalidInput(
            f"--scale is for rows of features, {dataset.name} has inputs of shape "
            f"{dataset.input_shape}"
        )
    if scale in SCALING_KINDS:
        return Scaling.of_data(rows, scale, names=dataset.feature_names)
    path = Path(scale)
    if path.is_dir():
        return _scaling_of_run(path)
    if path.is_file():
        try:
            return Scaling.from_dict(json.loads(path.read_text(encoding="utf-8")), scale)
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise DataError(f"{scale}: cannot be read as JSON: {error}") from None
    try:
        units = numbers(scale)
    except InvalidInput:
        raise InvalidInput(
            f"--scale must be {', '.join(SCALING_KINDS)}, numbers such as 10,0.5,200, a JSON file "
            f"or a run folder, got {scale!r}"
        ) from None
    return Scaling.of_data(rows, units, names=dataset.feature_names)


def _scaling_of_run(folder: Path) -> Scaling:
    from dsrs.classifiers import Scaling
    from dsrs.store import open_run

    with open_run(folder) as opened:
        stored = opened.config["model"].get("scaling")
    if stored is None:
        raise InvalidInput(f"{folder}: this run has no scaling; give --scale of another run")
    return Scaling.from_dict(stored, str(folder))
