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
        precision: auto (see `prepared`), float32 or bfloat16.
        threads: CPU threads; None: all cores.
    """

    device: str = "auto"
    precision: str = "auto"
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.threads is not None and not 1 <= self.threads <= MOST_THREADS:
            raise InvalidInput(f"`threads` must be from 1 to {MOST_THREADS}, got {self.threads}")
        for name, known in (("device", DEVICES), ("precision", PRECISIONS)):
            if getattr(self, name) not in known:
                raise InvalidInput(
                    f"the {name} must be one of {', '.join(known)}, got {getattr(self, name)!r}"
                )


def prepared(machine: Machine) -> tuple[str, str]:
    """Set the number of threads; return the device and the precision of the run.

    Precision `auto` is bfloat16 where the hardware multiplies it faster, float32 elsewhere:
    bfloat16 has float32's range, so it needs no loss scaling and resumes as exactly.
    """
    import torch

    if machine.threads is not None:
        torch.set_num_threads(machine.threads)
    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    device, precision = machine.device, machine.precision
    if device == "auto":
        device = next(each for each, usable in there.items() if usable)
    if not there[device]:
        raise InvalidInput(f"this machine has no usable {device} device; use --device auto")
    if precision == "auto":
        fast = device == "cuda" and torch.cuda.is_bf16_supported()
        precision = "bfloat16" if fast else "float32"
    return device, precision
