"""PyTorch modules: eager, or exported in memory to ONNX, which is several times faster on CPU."""

from __future__ import annotations

import hashlib
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.adapters import Engine
from dsrs.classifiers.base import (
    UNIT_BOUNDS,
    checked_bounds,
    checked_shape,
)
from dsrs.classifiers.callable import (
    CallableClassifier,
    TorchWeights,
    from_callable,
    in_fixed_batches,
    in_numpy,
    probe_batch,
    refuse_other_answers,
    remembered,
)
from dsrs.classifiers.device_votes import may_overlap
from dsrs.classifiers.onnx_file import from_onnx
from dsrs.classifiers.onnx_graph import bytes_of
from dsrs.classifiers.tensor_passes import (
    COMPILED,
    Precision,
    Run,
    arithmetic_text,
    imported_torch,
    in_precision,
    is_apart,
    module_passes,
    noise_beside,
    on_arrays,
    score_gradient,
    takes_bfloat16,
)
from dsrs.errors import ClassifierError, DsrsError, InvalidInput, imported

if TYPE_CHECKING:
    from dsrs.classifiers.denoisers import Denoiser

ENGINES = ("auto", "onnx", "eager", COMPILED)
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
    precision: Precision = "float32",
) -> CallableClassifier:
    """A classifier from a `torch.nn.Module` in evaluation mode.

    The fingerprint is of the module's structure and weights now: do not change them afterwards.

    Args:
        module: the module.
        input_shape: the shape of one input, without the batch axis.
        num_classes: the number of classes, needed where the module answers class ids.
        bounds: the least and the greatest value of a clean input.
        engine: "onnx" exports the module in memory and runs it with ONNX Runtime on `threads`
            threads; "eager" runs PyTorch itself, with PyTorch's own number of threads; "compiled"
            is eager with `torch.compile`; "auto" takes ONNX on CPU in float32 if the export works
            and answers as the module does, else eager, and the description says why.
        threads: threads inside of a forward pass of ONNX Runtime.
        device: moves the module there; by default it stays where it is.
        name: what the description calls the model.
        precision: the arithmetic of its passes: "float32", "tf32" (on CUDA), "bfloat16" or
            "float16". It is a part of the fingerprint, and so is "compiled".
    """
    if engine not in ENGINES:
        raise InvalidInput(f"`engine` must be one of {', '.join(ENGINES)}, got {engine!r}")
    shape, units = checked_shape(input_shape), checked_bounds(bounds)
    title = name or f"PyTorch {type(module).__name__}"
    refuse_training_mode(module, title)
    place = _moved(module, device)
    ready = in_precision(module, precision, place, title)
    fingerprint = f"{fingerprint_of_module(module)} {arithmetic_text(precision, engine)}".rstrip()
    own_engine = engine if engine == COMPILED else "eager"
    placed = PlacedModule(ready, place, title, fingerprint, own_engine, precision)
    as_onnx = precision == "float32" and not is_apart(place)
    if engine == "onnx" and not as_onnx:
        raise InvalidInput(f"`engine` 'onnx' is for float32 on the CPU, got {precision} on {place}")
    note = ""
    if engine in ("auto", "onnx") and as_onnx:
        try:
            return placed.exported(shape, num_classes, units, threads)
        except DsrsError as error:
            if engine == "onnx":
                raise
            note = f", as ONNX is not possible: {str(error).splitlines()[0]}"
    return placed.eager(shape, num_classes, units, note)


@dataclass(frozen=True)
class PlacedModule:
    """A module on its device, with the name and the hash that it has.

    Attributes:
        module: the module in evaluation mode, in its precision.
        place: its `torch.device`.
        title: what messages and descriptions call it.
        fingerprint: what tells it from others.
        engine: what the description says of it; "compiled" compiles it.
        precision: the arithmetic that the process must be set to.
        rows: the rows of a batch, where the module takes no other number.
        learns: whether gradients and weights can be had from it.
    """

    module: Any
    place: Any
    title: str
    fingerprint: str
    engine: str
    precision: str = "float32"
    rows: int | None = None
    learns: bool = True

    def passes(self) -> Run:
        """The forward passes of the module."""
        call = None
        if self.engine == COMPILED:
            # As one graph, with code for each size of a batch; a module that PyTorch would compile
            # in part only, or run as it is, fails at its first batch.
            call = imported_torch().compile(self.module, dynamic=False, fullgraph=True)
        return module_passes(self.module, self.place, self.title, self.precision, call)

    def eager(
        self,
        shape: tuple[int, ...],
        num_classes: int | None,
        bounds: tuple[float, float],
        note: str = "",
    ) -> CallableClassifier:
        """The module run by PyTorch; `note` says in the description why."""
        how = arithmetic_text(self.precision, self.engine) or self.engine
        run, noisy = self.passes(), None
        forward = on_arrays(run, self.place, may_overlap(self.place))
        if self.rows is not None:
            forward = in_fixed_batches(forward, self.rows)
        else:
            half_precision = takes_bfloat16(self.module)
            noisy = noise_beside(run, self.place, self.title, shape, half_precision=half_precision)
        made = from_callable(
            forward,
            shape,
            num_classes,
            bounds=bounds,
            name=f"{self.title} ({self.place}, {how}{note})",
            fingerprint=self.fingerprint,
            noisy=noisy,
        )

        def behind(denoiser: Denoiser) -> CallableClassifier:
            whole = self.behind(denoiser)
            if whole is None:
                return in_numpy(made, denoiser)
            return whole.eager(shape, made.num_classes, bounds, note)

        return self.with_module(replace(made, behind=behind))

    def exported(
        self,
        shape: tuple[int, ...],
        num_classes: int | None,
        bounds: tuple[float, float],
        threads: int,
    ) -> CallableClassifier:
        """The module exported in memory and run by ONNX Runtime, if it answers alike there."""
        eager, probes = on_arrays(self.passes(), self.place), probe_batch(shape, bounds)
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
            return joined if whole is None else whole.with_module(joined)

        return self.with_module(replace(made, behind=behind))

    def with_module(self, made: CallableClassifier) -> CallableClassifier:
        """The classifier with what the module is needed for: gradients, and learning from it."""
        if not self.learns:
            return made
        gradient = score_gradient(self.module, self.place, self.title)
        weights = TorchWeights(lambda: self.module)
        return replace(made, score_gradient=gradient, weights=weights)

    def behind(self, denoiser: Denoiser) -> PlacedModule | None:
        """The module behind a denoiser that is one too, on the same device."""
        front = denoiser.module()
        if front is None:
            return None
        whole = imported_torch().nn.Sequential(front.to(self.place), self.module)
        whole.training = False  # as its parts are; exported programs have no `eval`
        fingerprint = f"{self.fingerprint} {denoiser.fingerprint}"
        title = f"{self.title} behind {denoiser.name}"
        return replace(self, module=whole, title=title, fingerprint=fingerprint)


def refuse_training_mode(module: Any, title: str) -> None:
    """Raise ClassifierError if any part of `module` is in training mode."""
    for path, part in module.named_modules():
        if getattr(part, "training", False):  # a frozen module has no mode any more
            raise ClassifierError(
                f"{title} must be in evaluation mode, but {path or 'it'} is in training mode, "
                "where dropout and batch normalisation make answers random; call .eval() first"
            )


def exported_to_onnx(
    module: Any, input_shape: tuple[int, ...], bounds: tuple[float, float], title: str
) -> bytes:
    """The module as the bytes of an ONNX model with an open batch axis."""
    example = probe_batch(input_shape, bounds)
    return bytes_of(onnx_model(module, example, title, "use engine='eager'"))


def onnx_model(
    module: Any,
    example: NDArray[np.float32],
    title: str,
    advice: str,
    axis: str = "batch",
    **names: list[str],
) -> Any:
    """The module as an ONNX model (`onnx.ModelProto`) with an open batch axis.

    Args:
        module: the module in evaluation mode.
        example: a batch that it takes.
        title: what messages call it.
        advice: what messages say to do where it cannot be exported.
        axis: the name of the batch axis.
        names: `input_names` and `output_names`; by default PyTorch chooses them.
    """
    torch = imported_torch()
    for package in ("onnx", "onnxscript"):
        imported(package, "torch")
    try:
        with _quiet_exporter():
            return torch.onnx.export(
                module,
                (torch.from_numpy(example),),
                dynamo=True,
                dynamic_shapes=({0: torch.export.Dim(axis)},),
                verbose=False,
                **names,
            ).model_proto
    except (torch.onnx.errors.OnnxExporterError, RuntimeError, TypeError, ValueError) as error:
        raise ClassifierError(
            f"{title} cannot be exported to ONNX ({type(error).__name__}); {advice}"
        ) from error


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


def _moved(module: Any, device: str | None) -> Any:
    """Move the module to the device, if there is one, and return the `torch.device` it is on."""
    if device is not None:
        module.to(device)
    first = next(iter(module.state_dict().values()), None)
    place = imported_torch().device("cpu") if first is None else first.device
    # The tensors of cpu:1 do not say so.
    return imported_torch().device(device) if device is not None and place.type == "cpu" else place


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
