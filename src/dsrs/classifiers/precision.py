"""The arithmetic that a PyTorch module is run in: a part of the model, and of its fingerprint.

A module in half precision is another function than in float32, with votes of its own. Noise is
added in float32 in every precision; what the module is given is rounded once, after that.
"""

from __future__ import annotations

import copy
from typing import Any, Literal, get_args

from dsrs.errors import ClassifierError, InvalidInput

Precision = Literal["float32", "tf32", "bfloat16", "float16"]
MODEL_PRECISIONS: tuple[str, ...] = get_args(Precision)
COMPILED = "compiled"


def arithmetic_text(precision: str, engine: str) -> str:
    """What is added to a fingerprint: nothing for float32 as it is, or such as `bfloat16 compiled`.

    Channels last goes with every precision but float32, so that it need not be said.
    """
    said = () if precision == "float32" else (precision,)
    return " ".join((*said, COMPILED) if engine == COMPILED else said)


def in_precision(module: Any, precision: str, place: Any, title: str) -> Any:
    """The module on float32 batches, computed in this precision; float32 is the module itself.

    Weights and batches of images are kept channels last in all other precisions, where tensor cores
    and vector units want them so.

    Args:
        module: the module on its device; it is copied where its weights must change.
        precision: one of MODEL_PRECISIONS.
        place: the device.
        title: what messages call the module.
    """
    if precision not in MODEL_PRECISIONS:
        raise InvalidInput(
            f"`precision` must be one of {', '.join(MODEL_PRECISIONS)}, got {precision!r}"
        )
    import torch

    if place.type == "cuda":  # for convolutions and products of matrices of the whole process
        tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = tf32
    if precision == "float32":
        return module
    if precision == "tf32" and place.type != "cuda":
        raise InvalidInput(
            f"`precision` 'tf32' is a mode of NVIDIA GPUs, and {title} is on {place}; use float32 "
            "or bfloat16"
        )
    kind = torch.float32 if precision == "tf32" else getattr(torch, precision)
    try:
        converted = copy.deepcopy(module).to(kind)
    except (RuntimeError, TypeError) as error:
        raise ClassifierError(f"{title} cannot be run in {precision}: {error}") from error
    from dsrs.networks import Converting

    return Converting(converted.to(memory_format=torch.channels_last), kind).eval()


def takes_bfloat16(module: Any) -> bool:
    """Whether `in_precision` made a module that rounds its batches to bfloat16."""
    import torch

    from dsrs.networks import Converting

    return isinstance(module, Converting) and module.kind == torch.bfloat16


def refuse_other_precision(precision: str, title: str, kind: str = "cuda") -> None:
    """Raise ClassifierError if another model or other code changed what float32 means here.

    Args:
        precision: one of MODEL_PRECISIONS; only float32 and tf32 can be changed so.
        title: what messages call the module.
        kind: the kind of device, such as `cuda` or `cpu`.
    """
    import torch

    if precision not in ("float32", "tf32"):
        return
    if kind == "cuda":
        allowed = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
        changed = allowed != (precision == "tf32",) * 2
        how = f"has switched tf32 {'off' if precision == 'tf32' else 'on'}"
    else:
        changed = torch.get_float32_matmul_precision() != "highest"
        how = "has called torch.set_float32_matmul_precision"
    if changed:
        raise ClassifierError(
            f"{title} is to be run in {precision}, but other code of this process {how}; run "
            "models of both in processes of their own"
        )
