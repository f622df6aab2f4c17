"""Which model and which inputs: the options that every command on a model shares."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.cli.data_options import (
    ANYWHERE,
    add_data_options,
    class_names_from,
    frame_from,
    scaling_from,
)
from dsrs.cli.noise_options import left_out
from dsrs.cli.options import Options, numbers, whole_numbers
from dsrs.cli.parsing import TRUST_OPTION
from dsrs.errors import DataError, InvalidInput
from dsrs.measures import floor_text
from dsrs.methods import defaults

if TYPE_CHECKING:
    from dsrs.classifiers import Classifier, Scaling
    from dsrs.datasets import Dataset

# What loads a model, and what loads data: kept in the run, so that it can be attacked later.
MODEL_SOURCE = (
    *("model", "weights", "channels_last", "mean", "std", "device", "precision", "compile"),
    *("num_classes", "denoise"),
)
DATA_SOURCE = (
    *("data", "split", "labels", "no_labels", "label_column", "class_names"),
    *("size", "crop", "resample", "stretch"),
)
# As `classifiers.precision` has them, whose import would slow --help down.
PRECISION_CHOICES = ("float32", "tf32", "bfloat16", "float16")
PATHS = ("weights", "data", "labels", "denoise", "class_names")


def add_model_options(
    group: Options, *, voters: str = "", split: str = "test", required: bool = True
) -> None:
    """--model, --data, how to read them, and which inputs to take.

    Where votes choose a class, `voters` says in the help which ones, and --target whether they do.
    """
    if not voters:
        add_source_options(group, split=split, required=required)
    else:
        no_labels = f"do not use labels: take the class that {voters} choose"
        add_source_options(group, split=split, required=required, no_labels=no_labels)
        group.add_argument(
            "--target",
            choices=defaults.TARGETS,
            default=defaults.TARGETS[0],
            help=f"with labels: take the label (default), or the class that {voters} choose",
        )
    group.add_argument("--start", default=0, help="number of the first input")
    group.add_argument("--stop", type=int, help="stop before this input (default: the end)")
    group.add_argument("--skip", default=1, help="take every SKIP-th input")
    group.add_argument("--indices", type=whole_numbers, help="these inputs, such as 3,14,15 or 0-9")
    group.add_argument(
        "--leave-out",
        metavar="FILE",
        help="without the inputs that chose the law of this file, of `dsrs tune` or `dsrs adapt`; "
        "in other data they are known by their content",
    )


def add_source_options(
    group: Options,
    *,
    split: str = "test",
    required: bool = True,
    no_labels: str = "do not read the labels of the data",
) -> None:
    """--model, --data and how to read them; `no_labels` is the text of --no-labels."""
    group.add_argument(
        "--model",
        action="append",
        required=required,
        help="net.onnx, net.pt2, module:name, path/to/file.py:name, timm:NAME, torchvision:NAME, a "
        "Hugging Face folder (config.json and safetensors), a folder with model.onnx "
        "or a network by name; given again, an ensemble that averages the models' scores",
    )
    group.add_argument(
        "--denoise",
        metavar="dct|dct-mild|clip|FILE",
        help="what stands between the noise and the model: dct (a denoiser without training), "
        "dct-mild (the same, leaving a fifth of what it takes away), clip (to the bounds), or the "
        ".onnx file of a denoiser",
    )
    group.add_argument(
        "--weights",
        help="file of tensors for a PyTorch module:name, for timm:NAME or torchvision:NAME in "
        "place of the published ones, or for a network by name",
    )
    group.add_argument(
        "--channels-last",
        action="store_true",
        help="the function takes images (n, height, width, channels), as Keras and JAX do",
    )
    group.add_argument(
        "--mean",
        type=numbers,
        default=(),
        help="for a model that expects (x - mean) / std: one number, or 0.49,0.48,0.45",
    )
    group.add_argument(
        "--std", type=numbers, default=(), help="the std of --mean, as many numbers (default: 1)"
    )
    group.add_argument(
        "--device",
        default="cpu",
        help="where the model runs: cpu (default), cuda, cuda:1, several as cuda:0,cuda:1 or "
        "cuda:all, mps; `dsrs doctor` says what is here",
    )
    _add_arithmetic(group)
    group.add_argument(
        "--num-classes", type=int, help="number of classes, where the model does not say it"
    )
    add_data_options(group, split, required, no_labels)


def _add_arithmetic(group: Options) -> None:
    """--precision and --compile, which are a part of the model, and --trust-code."""
    group.add_argument(
        f"--{TRUST_OPTION}",
        action="store_true",
        kept=False,
        help="run the Python code that a run or a settings file names as its model; a name that is "
        "typed here is run without it",
    )
    group.add_argument(
        "--precision",
        choices=PRECISION_CHOICES,
        default="float32",
        help="arithmetic of a PyTorch model: float32 (default), tf32 (NVIDIA GPUs), bfloat16, "
        "float16; another precision is another model, with votes of its own",
    )
    group.add_argument(
        "--compile",
        action="store_true",
        help="compile a PyTorch model with torch.compile; also another model",
    )


def add_batch_size(group: Options) -> None:
    """--batch-size of the forward passes."""
    group.add_argument(
        "--batch-size",
        default=0,
        dest="batch",
        help="rows of a forward pass: a power of two up to 1024 (default: by the input's size)",
    )


def add_goal(group: Options, n: int = defaults.N) -> None:
    """--n, --alpha and --objective of what is predicted."""
    group.add_argument("--n", default=n, help="votes that an input will have when certified")
    group.add_argument("--alpha", default=defaults.ALPHA, help="failure probability")
    group.add_argument(
        "--objective", default="acr", help="acr (average certified radius) or accuracy@R"
    )


def add_workers(group: Options) -> None:
    """--workers that share the work out."""
    group.add_argument(
        "--workers", type=int, kept=False, help="threads, 1 to 1024 (default: all cores)"
    )


def dataset_from(arguments: argparse.Namespace) -> Dataset:
    """The data that these options name, in the units that they name."""
    from dsrs.classifiers import UNIT_BOUNDS
    from dsrs.datasets import load_dataset

    target = getattr(arguments, "target", "label")
    if arguments.no_labels and (arguments.labels or arguments.label_column or target != "label"):
        raise InvalidInput("--no-labels cannot be used with --labels, --label-column or --target")
    scale, bounds = arguments.scale, tuple(arguments.bounds)
    if scale is not None and bounds != UNIT_BOUNDS:
        raise InvalidInput(
            "--scale takes the bounds of each feature by itself; leave --bounds out, or write "
            "lower and upper bounds into a JSON file for --scale"
        )
    dataset = load_dataset(
        arguments.data,
        arguments.split,
        labels=arguments.labels,
        label_column=arguments.label_column,
        bounds=bounds if scale is None else ANYWHERE,
        **frame_from(arguments),
    )
    if scale is not None:
        dataset = dataset.scaled(scaling_from(scale, dataset))
    if arguments.class_names is not None:
        names = class_names_from(arguments.class_names)
        dataset = dataclasses.replace(dataset.numbered_as(names), class_names=names)
    return dataclasses.replace(dataset, labels=None) if arguments.no_labels else dataset


def other_split(
    arguments: argparse.Namespace, dataset: Dataset, model: Classifier, **changed: Any
) -> Dataset | None:
    """Data that is read as `dataset` is but for the `changed` options; None if it is the same."""
    scale = None if dataset.scaling is None else dataset.scaling.to_dict()
    read = dataset_from(argparse.Namespace(**vars(arguments) | {"scale": scale} | changed))
    named = read.named_for(model)  # as `dataset` is, which changes its fingerprint
    return None if named.fingerprint == dataset.fingerprint else named


def chosen_inputs(
    arguments: argparse.Namespace, dataset: Dataset, *, say: bool = True
) -> list[int]:
    """The inputs that these options choose; `say`: with a line about those that are left out."""
    from dsrs.datasets import select

    chosen = select(dataset, arguments.start, arguments.stop, arguments.skip, arguments.indices)
    kept = [int(index) for index in chosen]
    if arguments.leave_out is not None:
        quiet = getattr(arguments, "quiet", False)
        out = left_out(arguments.leave_out, dataset, kept, say=say, quiet=quiet)
        kept = [index for index in kept if index not in out]
    if not kept:
        raise InvalidInput("--leave-out leaves no input: all of them chose the law")
    return kept


def classifier_from(arguments: argparse.Namespace, dataset: Dataset) -> Classifier:
    """The model that these options name, for inputs of this shape."""
    from dsrs.classifiers import load_classifier

    options = classifier_options(arguments, dataset.input_shape, dataset.scaling)
    return load_classifier(arguments.model, **options)


def model_and_data(arguments: argparse.Namespace) -> tuple[Classifier, Dataset]:
    """The model and the data that these options name, with the labels as the model numbers them."""
    dataset = dataset_from(arguments)
    classifier = classifier_from(arguments, dataset)
    return classifier, dataset.named_for(classifier)


def model_and_inputs(arguments: argparse.Namespace) -> tuple[Classifier, Dataset, list[int]]:
    """The model, the data and the inputs of it that these options name."""
    classifier, dataset = model_and_data(arguments)
    return classifier, dataset, chosen_inputs(arguments, dataset)


def classifier_options(
    arguments: argparse.Namespace, input_shape: tuple[int, ...], scaling: Scaling | None
) -> dict[str, Any]:
    """The options of `load_classifier` that these are, if the model may be loaded at all."""
    refuse_untrusted(arguments)
    same = [name for name in MODEL_SOURCE if name not in ("model", "compile")]
    return {name: getattr(arguments, name) for name in same} | {
        "input_shape": input_shape,
        "bounds": tuple(arguments.bounds),
        "scaling": scaling,
        "engine": "compiled" if arguments.compile else "auto",
    }


def refuse_untrusted(arguments: argparse.Namespace) -> None:
    """Raise InvalidInput if loading the model would run code that only a file or a run names."""
    from dsrs.classifiers import runs_code

    if arguments.trust_code:
        return
    given = arguments.model if "model" in arguments.untyped else None
    for model in [given] if isinstance(given, str) else given or ():
        if runs_code(model):
            raise InvalidInput(
                f"{model} is Python code, and a file names it, not this command: if you trust that "
                "code, give it by --model, or give --trust-code"
            )
    if "cluster" in arguments.untyped:
        raise InvalidInput("a file names --cluster, which can run code: type it, or --trust-code")


def source_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """How these options load the model and the data, for the run to keep."""
    source = {name: getattr(arguments, name) for name in (*MODEL_SOURCE, *DATA_SOURCE)}
    source |= frame_from(arguments)
    for name in PATHS:
        if source[name] is not None:
            source[name] = whole_path(source[name])
    models = [whole_path(model) for model in arguments.model]
    return source | {"model": models[0] if len(models) == 1 else models}


def whole_path(name: str) -> str:
    """A path that holds from any folder; module:name and names of denoisers are none."""
    file, colon, inside = name.rpartition(":")
    if colon and Path(file).is_file():  # path/to/file.py:name
        return f"{Path(file).resolve()}:{inside}"
    return str(Path(name).resolve()) if Path(name).exists() else name


def with_stored_source(
    arguments: argparse.Namespace, config: Mapping[str, Any]
) -> argparse.Namespace:
    """These options, with what the run itself knows where --model or --data were not given."""
    stored = config.get("source", {})
    completed = argparse.Namespace(**vars(arguments))
    model = config.get("model")
    if not isinstance(model, dict) or "bounds" not in model:
        raise DataError("the run does not say which model it is of")
    completed.scale = model.get("scaling")
    if completed.scale is None:
        completed.bounds = tuple(model["bounds"])
    for names in (MODEL_SOURCE, DATA_SOURCE):
        what = names[0]
        if getattr(arguments, what) is not None:
            continue
        if stored.get(what) is None:
            raise InvalidInput(f"this run does not know where its {what} is; give --{what}")
        for name in names:
            setattr(completed, name, stored.get(name, getattr(arguments, name)))
        completed.untyped |= {what}
    return completed


# ---- Notes on the inputs that choose: of which split they are, and what the model says of them

INPUTS_PER_SPLIT = 256  # of each split


def note_on_split(arguments: argparse.Namespace, model: Classifier, dataset: Dataset) -> None:
    """Say that the train split may flatter, and how accuracies without noise differ."""
    if arguments.split != "train" or dataset.labels is None:
        return
    try:
        test = other_split(arguments, dataset, model, split="test")
    except DataError:
        return
    if test is None or test.labels is None:
        return
    seen, other = (floor_text(100 * clean_accuracy(model, data), 1) for data in (dataset, test))
    print(
        "note: these inputs are of the train split. If the model was trained on them, they flatter "
        f"it: {seen} % are right without noise here, {other} % on the test split; --split test "
        "chooses there",
        file=sys.stderr,
    )


def note_without_noise(model: Classifier, dataset: Dataset, chosen: Sequence[int]) -> None:
    """Say on how many of the inputs that choose the model is right without noise."""
    if dataset.labels is None:
        return
    labels = Counter(dataset.labels[list(chosen)].tolist())
    (_, most), size = labels.most_common(1)[0], len(chosen)
    right = right_answers(model, dataset, chosen)
    text = f"without noise the model is right on {right} of the {size} inputs that choose"
    if len(labels) == 1 and size > 1:
        text += (
            ", which are all of one class: a model that always gives this class would be certified "
            "at any radius, so choose among inputs of several classes"
        )
    elif right <= most < size:
        text += (
            f", no more than one that always gives the same class ({most}); is the data as the "
            "model wants it (--bounds, --mean and --std, --class-names)?"
        )
    print(f"note: {text}", file=sys.stderr)


def clean_accuracy(model: Classifier, dataset: Dataset) -> float:
    """The share of right answers without noise, on some inputs spread over the data."""
    rows = range(0, len(dataset), max(1, len(dataset) // INPUTS_PER_SPLIT))
    return right_answers(model, dataset, rows) / len(rows)


def right_answers(model: Classifier, dataset: Dataset, rows: Sequence[int]) -> int:
    """How many of these inputs the model answers rightly without noise."""
    import numpy as np

    assert dataset.labels is not None
    right = 0
    for start in range(0, len(rows), 64):
        chosen = list(rows[start : start + 64])
        answers = model.classify(np.stack([dataset.input(row) for row in chosen]))
        right += int(np.count_nonzero(answers == dataset.labels[chosen]))
    return right
