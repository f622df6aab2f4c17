"""Forward passes of PyTorch: their arithmetic, their device, and where their noise is made."""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.base import ScoreGradient, failure
from dsrs.errors import ClassifierError, InvalidInput, imported
from dsrs.noise import NoiseBlock, Stored, device_noise

# ---- The arithmetic that a module is run in: a part of the model, and of its fingerprint
# A module in half precision is another function than in float32, with votes of its own. Noise is
# added in float32 in every precision; what the module is given is rounded once, after that.

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


# ---- Forward passes, and noise beside the model
# `cuda`, `cuda:1` and `mps` are devices apart from the processor. So is `cpu:0` or `cpu:1`, which
# is the processor behind the same code: noise in tensors and votes counted there. It is slower
# than `cpu`, and there to try what a GPU does where there is none.

LOG = logging.getLogger("dsrs.counting")
# From a batch as a tensor on the device to logits or class ids, there as well.
Run = Callable[[Any], Any]
# Pairs of a shift and a scale: what is done to inputs on their way to a model, in order.
Units = tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]


class Prepared(NamedTuple):
    """A noisy batch on its way to a model.

    batch: the noisy copies as the model takes them, a tensor on its device.
    norms: their noise norms, there as well.
    run: the model.
    """

    batch: Any
    norms: Any
    run: Run


# The noisy copies of a block, made where the model is.
NoisyForward = Callable[[NoiseBlock, Units], Prepared]


def is_apart(place: Any) -> bool:
    """Whether a `torch.device` makes its own noise and counts its own votes."""
    return bool(place.type != "cpu" or place.index is not None)


def module_passes(
    module: Any, place: Any, title: str, precision: str = "float32", call: Run | None = None
) -> Run:
    """Runs a module on tensors, without gradients.

    Args:
        module: the module on its device.
        place: the device.
        title: what messages call the module.
        precision: the arithmetic that the process must be set to.
        call: calls the module otherwise than by itself, such as compiled.
    """
    torch = imported_torch()
    ask = module if call is None else call

    def run(batch: Any) -> Any:
        if getattr(module, "training", False):
            raise ClassifierError(f"{title} was switched to training mode; call .eval()")
        refuse_other_precision(precision, title, place.type)
        with torch.inference_mode():
            try:
                answer = ask(batch)
            except (MemoryError, RuntimeError, TypeError, ValueError) as error:
                raise failure(error, title, tuple(batch.shape)) from error
            answer = logits_of(answer, title)
            return answer.float() if answer.dtype in (torch.bfloat16, torch.float16) else answer

    return run


def logits_of(answer: Any, title: str) -> Any:
    """The tensor that a module answered, or that its answer calls `logits`."""
    logits = getattr(answer, "logits", answer)
    if not isinstance(logits, imported_torch().Tensor):
        raise ClassifierError(
            f"{title} must return one tensor of logits, or an object that has it as `logits`, got "
            f"{type(answer).__name__}"
        )
    return logits


def on_arrays(
    run: Run, place: Any, pinned: bool = False
) -> Callable[[NDArray[np.float32]], NDArray[Any]]:
    """The same passes on arrays; `pinned` moves them without waiting."""

    def forward(batch: NDArray[np.float32]) -> NDArray[Any]:
        rows = tensor_of(batch)
        rows = rows.pin_memory().to(place, non_blocking=True) if pinned else rows.to(place)
        answer: NDArray[Any] = run(rows).cpu().numpy()
        return answer

    return forward


def noise_beside(
    run: Run, place: Any, title: str, shape: tuple[int, ...], *, half_precision: bool = False
) -> NoisyForward | None:
    """Noise made where the model is, for the model to be run on; None: the sampler makes it.

    On the CPU the sampler's kernels are faster; elsewhere no batch need be moved. A device whose
    noise is not the sampler's, bit for bit, is not trusted with it.

    Args:
        run: the model.
        place: the device.
        title: what messages call the model.
        shape: the shape of one input.
        half_precision: whether the model takes batches in bfloat16, and images channels last.
    """
    if not is_apart(place):
        return None
    noise = device_noise(str(place))
    if noise.make is None:
        LOG.warning("the processor makes the noise: %s", "; ".join(noise.notes))
        return None
    torch, make = imported_torch(), noise.make
    moved = _Moved(place)

    channels = shape[0] if half_precision and len(shape) == 3 else 1
    as_taken = Stored(half_precision, channels)

    def prepare(block: NoiseBlock, units: Units) -> Prepared:
        # A shift or a scale is computed in float32, before anything is rounded.
        stored = Stored() if units else as_taken
        try:
            with torch.inference_mode():
                batch, norms = make(block, moved.cells(block.cells), stored)
                if stored.channels > 1:
                    batch = batch.reshape(-1, *shape[1:], shape[0]).movedim(-1, 1)
                batch = batch.reshape(-1, *shape)
                for shift, scale in units:
                    batch = (batch - moved.constant(shift)) / moved.constant(scale)
        except (MemoryError, RuntimeError) as error:
            raise failure(error, f"the noise of {title}", (block.count, *shape)) from error
        return Prepared(batch, norms, run)

    return prepare


class _Moved:
    """Arrays that were moved to a device: each once, since every move makes the processor wait.

    An array must not be changed afterwards. Threads have inputs of their own.
    """

    def __init__(self, place: Any) -> None:
        self._place = place
        self._local = threading.local()
        self._constants: dict[int, tuple[NDArray[Any], Any]] = {}

    def cells(self, cells: NDArray[np.float64]) -> Any:
        """The input; only the last one of a thread is kept."""
        held: tuple[NDArray[np.float64], Any] | None = getattr(self._local, "cells", None)
        if held is None or held[0] is not cells:
            held = self._local.cells = (cells, self._there(cells))
        return held[1]

    def constant(self, values: NDArray[np.float32]) -> Any:
        """An array that belongs to the model, which keeps it."""
        if id(values) not in self._constants:
            self._constants[id(values)] = (values, self._there(values))
        return self._constants[id(values)][1]

    def _there(self, values: NDArray[Any]) -> Any:
        return imported_torch().from_numpy(values).to(self._place)


def imported_torch() -> ModuleType:
    """The module `torch`, or MissingExtra."""
    return imported("torch", "torch")


def tensor_of(batch: NDArray[np.float32]) -> Any:
    """The batch as a tensor."""
    # PyTorch warns of read-only arrays, although nothing writes to its input here.
    return imported_torch().from_numpy(batch if batch.flags.writeable else batch.copy())


def score_gradient(module: Any, place: Any, title: str) -> ScoreGradient:
    """A function that back-propagates a score of the classes to the inputs."""
    torch = imported_torch()

    def gradient(batch: NDArray[np.float32], scores: NDArray[np.float64]) -> NDArray[np.float32]:
        rows = tensor_of(batch).to(place).requires_grad_(True)
        try:
            shares = torch.softmax(logits_of(module(rows), title).float(), dim=1)
            mean = shares @ torch.as_tensor(scores, dtype=shares.dtype, device=place)
            (slope,) = torch.autograd.grad(mean.sum(), rows)
        except (RuntimeError, TypeError, ValueError) as error:
            raise ClassifierError(
                f"{title} cannot back-propagate through a batch of shape {batch.shape}: {error}"
            ) from error
        result: NDArray[np.float32] = slope.cpu().numpy()
        return result

    return gradient
