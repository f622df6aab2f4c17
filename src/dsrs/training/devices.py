"""Where to train, with how many bits and how many threads."""

from __future__ import annotations

from dataclasses import dataclass

from dsrs.errors import InvalidInput

DEVICES = ("auto", "cuda", "mps", "cpu")
PRECISIONS = ("auto", "float32", "bfloat16")
MOST_THREADS = 1024


@dataclass(frozen=True)
class Machine:
    """What a run uses of the machine.

    Attributes:
        device: auto (the fastest there is), cuda, mps or cpu.
        precision: auto (see `choose_precision`), float32 or bfloat16.
        threads: CPU threads; None: all cores.
    """

    device: str = "auto"
    precision: str = "auto"
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.threads is not None and not 1 <= self.threads <= MOST_THREADS:
            raise InvalidInput(f"`threads` must be from 1 to {MOST_THREADS}, got {self.threads}")


def choose_device(wish: str = "auto") -> str:
    """`wish`, or the fastest device there is."""
    import torch

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
    import torch

    if wish not in PRECISIONS:
        raise InvalidInput(f"the precision must be one of {', '.join(PRECISIONS)}, got {wish!r}")
    if wish != "auto":
        return wish
    return "bfloat16" if device == "cuda" and torch.cuda.is_bf16_supported() else "float32"


def prepared(machine: Machine) -> tuple[str, str]:
    """Set the number of threads; return the device and the precision of the run."""
    import torch

    if machine.threads is not None:
        torch.set_num_threads(machine.threads)
    device = choose_device(machine.device)
    return device, choose_precision(machine.precision, device)
