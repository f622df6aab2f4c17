"""The command that follows `dsrs adapt`, with the options that it needs again."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from dsrs.cli.options import Typed

if TYPE_CHECKING:
    from dsrs.adapting import Adapted

# Options of both commands, by their keys: of the data and of what is asked, and of a model that
# is not written as a file.
DATA_KEYS = (
    *("data", "split", "labels", "label-column", "no-labels", "class-names", "bounds", "scale"),
    *("image-size", "image-crop", "image-resample", "image-stretch", "device", "n", "alpha"),
)
MODEL_KEYS = (
    *("model", "weights", "channels-last", "mean", "std", "num-classes", "precision", "compile"),
)


def next_certify(arguments: argparse.Namespace, adapted: Adapted, others: bool) -> str:
    """The `dsrs certify` of the adapted model, as it is typed.

    Args:
        arguments: those of `dsrs adapt`.
        adapted: what it made.
        others: whether the data has inputs that did not choose.
    """
    law = str(adapted.folder / "tuned.json")
    texts: Mapping[str, Typed] = arguments.texts
    if adapted.model_file is None:
        model = list(_typed_again(texts, MODEL_KEYS))
        if adapted.best.denoiser is not None:
            model += ["--denoise", adapted.best.denoiser]
    else:
        model = ["--model", str(adapted.folder)]
    data = list(_typed_again(texts, DATA_KEYS if others else DATA_KEYS[1:]))
    if not others:
        data = ["--data", "OTHER_DATA", *data]
    lines = [
        f"next: dsrs certify {shlex.join([*model, *data])} \\",
        f"          --law {shlex.quote(law)} --leave-out {shlex.quote(law)} --output runs/adapted",
        "      dsrs report runs/adapted; dsrs check runs/adapted",
    ]
    if not others:
        lines.insert(0, "all inputs of the data chose, so none is left to report: certify others\n")
    return "\n".join(lines)


def _typed_again(texts: Mapping[str, Typed], keys: Iterable[str]) -> Iterator[str]:
    """The words that were typed for these options."""
    for key in keys:
        text = texts.get(key)
        if isinstance(text, list):
            repeated = key == "model"
            words = [str(part) for part in text]
            yield from (
                (word for part in words for word in (f"--{key}", part))
                if repeated
                else (f"--{key}", *words)
            )
        elif text:
            yield f"--{key}"
            if isinstance(text, str):
                yield text
