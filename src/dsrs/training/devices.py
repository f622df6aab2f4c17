"""Where to train, and with how many bits."""

from __future__ import annotations

import torch

from dsrs.errors import InvalidInput

DEVICES = ("auto", "cuda", "mps", "cpu")
PRECISIONS = ("auto", "float32", "bfloat16")


def choose_device(wish: str = "auto") -> str:
    """`wish`, or the fastest device there is."""
    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if wish == "auto":
        return next(device for device, usable in there.items() if usable)
    if wish not in there:
        raise InvalidInput(f"the device must be one of {', '.join(DEVICES)}, got {wish!r}")
    if not there[wish]:
        raise InvalidInput(f"this machine has no usable {wish} device; use --device auto")
    return wish


def choose_precision(wish: str, device: str) -> str:
    """`wish`, or bfloat16 where the hardware multiplies it faster, float32 elsewhere.

    bfloat16 has float32's range, so it needs no loss scaling and resumes as exactly.
    """
    if wish not in PRECISIONS:
        raise InvalidInput(f"the precision must be one of {', '.join(PRECISIONS)}, got {wish!r}")
    if wish != "auto":
        return wish
    return "bfloat16" if device == "cuda" and torch.cuda.is_bf16_supported() else "float32"
