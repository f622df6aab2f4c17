"""PyTorch modules: eager, or exported in memory to ONNX, which is several times faster on CPU."""

from __future__ import annotations

import hashlib
import importlib
import logging
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.adapters import Engine
from dsrs.classifiers.base import (
    UNIT_BOUNDS,
    ScoreGradient,
    checked_bounds,
    checked_shape,
    failure,
)
from dsrs.classifiers.callable import (
    CallableClassifier,
    Forward,
    NoisyForward,
    Units,
    from_callable,
    probe_batch,
    refuse_other_answers,
    remembered,
)
from dsrs.classifiers.in_front import in_numpy
from dsrs.classifiers.onnx_file import from_onnx
from dsrs.errors import ClassifierError, DsrsError, InvalidInput, MissingExtra
from dsrs.noise.normals import NoiseBlock
from dsrs.noise.on_device import device_noise

if TYPE_CHECKING:
    from dsrs.classifiers.denoisers import Denoiser

LOG = logging.getLogger("dsrs.counting")
ENGINES = ("auto", "onnx", "eager")
EXPORTER_LOGGERS = ("torch.onnx", "torch.export", "torch._dynamo")


@remembered
def from_torch(
    module: Any,
    input_shape: tuple[int, ...],
    num_classes: int | None = None,
    *,
    bounds: tuple[float, float] = UNIT_BOUNDS,
    engine: Engine = "auto",
    threads: int = 1,
    device: str | None = None,
    name: str | None = None,
    device_noise: bool | None = None,
) -> CallableClassifier:
    """A classifier from a `torch.nn.Module` in evaluation mode.

    The fingerprint is of the module's structure and weights now: do not change them afterwards.

    Args:
        module: the module.
        input_shape: the shape of one input, without the batch axis.
        num_classes: the number of classes, needed where the module answers class ids.
        bounds: the least and the greatest value of a clean input.
        engine: "onnx" exports the module in memory and runs it with ONNX Runtime on `threads`
            threads; "eager" runs PyTorch itself, with PyTorch's own number of threads; "auto" takes
            ONNX on CPU if the export works and answers as the module does, else eager, and the
            description says why.
        threads: threads inside of a forward pass of ONNX Runtime.
        device: moves the module there; by default it stays where it is.
        name: what the description calls the model.
        device_noise: whether eager votes make their noise where the module is: by default unless
            that is the CPU. The votes do not depend on it there.
    """
    if engine not in ENGINES:
        raise InvalidInput(f"`engine` must be one of {', '.join(ENGINES)}, got {engine!r}")
    shape, units = checked_shape(input_shape), checked_bounds(bounds)
    title = name or f"PyTorch {type(module).__name__}"
    refuse_training_mode(module, title)
    if device is not None:
        module.to(device)
    placed = _Placed(module, _device_of(module), title, fingerprint_of_module(module))
    if engine == "onnx" and placed.place.type != "cpu":
        raise InvalidInput(f"`engine` 'onnx' is for the CPU, the module is on {placed.place}")
    note = ""
    if engine != "eager" and placed.place.type == "cpu":
        try:
            return placed.exported(shape, num_classes, units, threads)
        except DsrsError as error:
            if engine == "onnx":
                raise
            note = f", as ONNX is not possible: {str(error).splitlines()[0]}"
    return placed.eager(shape, num_classes, units, note, device_noise)


@dataclass(frozen=True)
class _Placed:
    """A module on its device, with the name and the hash that it has."""

    module: Any
    place: Any
    title: str
    fingerprint: str

    def eager(
        self,
        shape: tuple[int, ...],
        num_classes: int | None,
        bounds: tuple[float, float],
        note: str,
        device_noise: bool | None,
    ) -> CallableClassifier:
        """The module run by PyTorch; `note` says in the description why."""
        made = from_callable(
            eager_forward(self.module, self.place, self.title),
            shape,
            num_classes,
            bounds=bounds,
            name=f"{self.title} ({self.place}, eager{note})",
            fingerprint=self.fingerprint,
            noisy=noise_beside(self.module, self.place, self.title, shape, device_noise),
        )

        def behind(denoiser: Denoiser) -> CallableClassifier:
            whole = self.behind(denoiser)
            if whole is None:
                return in_numpy(made, denoiser)
            return whole.eager(shape, made.num_classes, bounds, note, device_noise)

        return replace(made, score_gradient=self.gradient(), behind=behind)

    def exported(
        self,
        shape: tuple[int, ...],
        num_classes: int | None,
        bounds: tuple[float, float],
        threads: int,
    ) -> CallableClassifier:
        """The module exported in memory and run by ONNX Runtime, if it answers alike there."""
        eager, probes = (
            eager_forward(self.module, self.place, self.title),
            probe_batch(shape, bounds),
        )
        eager(probes)  # what does not fit the module fails here, in a moment and in its own words
        made = from_onnx(
            exported_to_onnx(self.module, shape, bounds, self.title),
            input_shape=shape,
            num_classes=num_classes,
            bounds=bounds,
            threads=threads,
            name=self.title,
            fingerprint=self.fingerprint,
        )
        complaint = f"{self.title} answers differently after the export to ONNX; use engine='eager'"
        refuse_other_answers(made.forward, eager, probes, complaint)

        def behind(denoiser: Denoiser) -> CallableClassifier:
            assert made.behind is not None
            joined, whole = made.behind(denoiser), self.behind(denoiser)
            return joined if whole is None else replace(joined, score_gradient=whole.gradient())

        return replace(made, score_gradient=self.gradient(), behind=behind)

    def gradient(self) -> ScoreGradient:
        """Back-propagation through the module."""
        return score_gradient(self.module, self.place, self.title)

    def behind(self, denoiser: Denoiser) -> _Placed | None:
        """The module behind a denoiser that is one too, on the same device."""
        front = denoiser.module()
        if front is None:
            return None
        whole = imported_torch().nn.Sequential(front, self.module).to(self.place).eval()
        fingerprint = f"{self.fingerprint} {denoiser.fingerprint}"
        return _Placed(whole, self.place, f"{self.title} behind {denoiser.name}", fingerprint)


def refuse_training_mode(module: Any, title: str) -> None:
    """Raise ClassifierError if any part of `module` is in training mode."""
    for path, part in module.named_modules():
        if getattr(part, "training", False):  # a frozen module has no mode any more
            raise ClassifierError(
                f"{title} must be in evaluation mode, but {path or 'it'} is in training mode, "
                "where dropout and batch normalisation make answers random; call .eval() first"
            )


def eager_forward(module: Any, place: Any, title: str) -> Forward:
    """A forward function that runs `module` on the device `place`, without gradients."""
    torch = imported_torch()
    run = _runner(module, title)
    return lambda batch: run(_tensor(torch, batch).to(place))


def noise_beside(
    module: Any, place: Any, title: str, shape: tuple[int, ...], wanted: bool | None = None
) -> NoisyForward | None:
    """Noise made where the module is, and the module on it; None: the sampler makes the noise.

    On the CPU the sampler's kernels are faster; elsewhere no batch need be moved. A device whose
    noise is not the sampler's, bit for bit, is not trusted with it.
    """
    if not (place.type != "cpu" if wanted is None else wanted):
        return None
    noise = device_noise(str(place))
    if noise.make is None:
        LOG.warning("the processor makes the noise: %s", "; ".join(noise.notes))
        return None
    torch, make = imported_torch(), noise.make
    run = _runner(module, title)

    def forward(block: NoiseBlock, units: Units) -> tuple[NDArray[Any], NDArray[np.float64]]:
        try:
            with torch.inference_mode():
                batch, norms = make(block, place)
                batch = batch.reshape(-1, *shape)
                for shift, scale in units:
                    shift_there, scale_there = (
                        torch.from_numpy(values).to(place) for values in (shift, scale)
                    )
                    batch = (batch - shift_there) / scale_there
        except (MemoryError, RuntimeError) as error:
            raise failure(error, f"the noise of {title}", (block.count, *shape)) from error
        return run(batch), norms.cpu().numpy()

    return forward


def _runner(module: Any, title: str) -> Callable[[Any], NDArray[Any]]:
    """Runs the module on a tensor, without gradients."""
    torch = imported_torch()

    def run(batch: Any) -> NDArray[Any]:
        if getattr(module, "training", False):
            raise ClassifierError(f"{title} was switched to training mode; call .eval()")
        with torch.inference_mode():
            try:
                answer = module(batch)
            except (MemoryError, RuntimeError, TypeError, ValueError) as error:
                raise failure(error, title, tuple(batch.shape)) from error
            answer = _logits(answer, title)
            if answer.dtype in (torch.bfloat16, torch.float16):
                answer = answer.float()
            result: NDArray[Any] = answer.cpu().numpy()
            return result

    return run


def _logits(answer: Any, title: str) -> Any:
    """The tensor that a module answered, or that its answer calls `logits`."""
    logits = getattr(answer, "logits", answer)
    if not isinstance(logits, imported_torch().Tensor):
        raise ClassifierError(
            f"{title} must return one tensor of logits, or an object that has it as `logits`, got "
            f"{type(answer).__name__}"
        )
    return logits


def score_gradient(module: Any, place: Any, title: str) -> ScoreGradient:
    """A function that back-propagates a score of the classes to the inputs."""
    torch = imported_torch()

    def gradient(batch: NDArray[np.float32], scores: NDArray[np.float64]) -> NDArray[np.float32]:
        rows = _tensor(torch, batch).to(place).requires_grad_(True)
        try:
            shares = torch.softmax(_logits(module(rows), title).float(), dim=1)
            mean = shares @ torch.as_tensor(scores, dtype=shares.dtype, device=place)
            (slope,) = torch.autograd.grad(mean.sum(), rows)
        except (RuntimeError, TypeError, ValueError) as error:
            raise ClassifierError(
                f"{title} cannot back-propagate through a batch of shape {batch.shape}: {error}"
            ) from error
        result: NDArray[np.float32] = slope.cpu().numpy()
        return result

    return gradient


def exported_to_onnx(
    module: Any, input_shape: tuple[int, ...], bounds: tuple[float, float], title: str
) -> bytes:
    """The module as the bytes of an ONNX model with an open batch axis."""
    torch = imported_torch()
    for package in ("onnx", "onnxscript"):
        _require(package)
    example = torch.from_numpy(probe_batch(input_shape, bounds))
    try:
        with _quiet_exporter():
            program = torch.onnx.export(
                module,
                (example,),
                dynamo=True,
                dynamic_shapes=({0: torch.export.Dim("batch")},),
                verbose=False,
            )
            content: bytes = program.model_proto.SerializeToString()
    except (torch.onnx.errors.OnnxExporterError, RuntimeError, TypeError, ValueError) as error:
        raise ClassifierError(
            f"{title} cannot be exported to ONNX ({type(error).__name__}); use engine='eager'"
        ) from error
    return content


def fingerprint_of_module(module: Any) -> str:
    """sha256 of the printed structure, and of the name, type, shape and bytes of each tensor."""
    # Addresses in a printed structure differ from one process to the next.
    structure = re.sub(r" at 0x[0-9a-f]+", "", repr(module))
    kind = type(module)
    digest = hashlib.sha256(f"{kind.__module__}.{kind.__qualname__}\n{structure}".encode())
    for key, tensor in sorted(module.state_dict().items()):
        digest.update(f"{key} {tensor.dtype} {tuple(tensor.shape)}".encode())
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(imported_torch().uint8).numpy().data)
    return f"sha256:{digest.hexdigest()}"


def imported_torch() -> ModuleType:
    """The module `torch`, or MissingExtra."""
    return _require("torch")


def _require(package: str) -> ModuleType:
    try:
        return importlib.import_module(package)
    except ImportError:
        raise MissingExtra(package, "torch") from None


def _tensor(torch: ModuleType, batch: NDArray[np.float32]) -> Any:
    # PyTorch warns of read-only arrays, although nothing writes to its input here.
    return torch.from_numpy(batch if batch.flags.writeable else batch.copy())


def _device_of(module: Any) -> Any:
    first = next(iter(module.state_dict().values()), None)
    return imported_torch().device("cpu") if first is None else first.device


@contextmanager
def _quiet_exporter() -> Iterator[None]:
    # The exporter warns of its own internals, logs every optional package that is absent, and
    # logs what it raises.
    loggers = [logging.getLogger(name) for name in EXPORTER_LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
