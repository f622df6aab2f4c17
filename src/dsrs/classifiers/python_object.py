"""`package.module:name`: the user's own model, or the function that makes it."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from dsrs.classifiers.base import UNIT_BOUNDS, Classifier, raised
from dsrs.classifiers.callable import from_callable
from dsrs.classifiers.layout import channels_last as on_images
from dsrs.classifiers.sklearn_estimator import from_sklearn
from dsrs.classifiers.torch_module import Engine, from_torch
from dsrs.errors import ClassifierError, InvalidInput, MissingExtra

OBJECT_SPEC = re.compile(r"(?P<module>[A-Za-z_][\w.]*):(?P<name>[A-Za-z_][\w.]*)")


def from_python_object(
    spec: str,
    *,
    input_shape: tuple[int, ...] | None = None,
    num_classes: int | None = None,
    bounds: tuple[float, float] = UNIT_BOUNDS,
    engine: Engine = "auto",
    threads: int = 1,
    device: str = "cpu",
    weights: str | Path | None = None,
    channels_last: bool = False,
) -> Classifier:
    """A classifier from what `package.module:name` names.

    That is a Classifier, a PyTorch module, a fitted scikit-learn estimator, a callable on
    batches, or a function or class that makes one of these when called without arguments.
    Modules in the working directory are found too. `weights`, a .safetensors file, is loaded
    into a PyTorch module, which is then evaluated. `channels_last` is for callables. The
    fingerprint of a callable includes its module's source and answers.
    """
    home, made = _resolved(spec)
    plain = not (
        _is_torch_module(made) or isinstance(made, Classifier) or hasattr(made, "classes_")
    )
    if channels_last and not plain:
        raise InvalidInput(f"`channels_last` is for a function on batches, {spec} is {_kind(made)}")
    if _is_torch_module(made):
        if weights is not None:
            _load_weights(made, Path(weights), spec)
            made.eval()  # loaded weights are no longer trained; a class makes it in training mode
        return from_torch(
            made,
            _needed(input_shape, spec),
            num_classes,
            bounds=bounds,
            engine=engine,
            threads=threads,
            device=device,
            name=spec,
        )
    if weights is not None:
        raise InvalidInput(f"`weights` are for a PyTorch module, {spec} is {_kind(made)}")
    if isinstance(made, Classifier):
        return made
    if hasattr(made, "predict") and hasattr(made, "classes_"):
        return from_sklearn(made, input_shape, bounds=bounds, name=spec)
    if not callable(made):
        raise ClassifierError(
            f"{spec} must be a Classifier, a PyTorch module, a fitted scikit-learn estimator, "
            f"a callable on batches, or make one without arguments; it is {_kind(made)}"
        )
    return from_callable(
        on_images(made) if channels_last else made,
        _needed(input_shape, spec),
        num_classes,
        bounds=bounds,
        name=spec,
        source=_source_of(home),
    )


def _resolved(spec: str) -> tuple[ModuleType, Any]:
    """The module, and the object after calling it if it is a factory."""
    match = OBJECT_SPEC.fullmatch(spec)
    if match is None:
        raise InvalidInput(f"expected package.module:name, got {spec!r}")
    home = imported(match["module"], spec)
    found: Any = home
    for part in match["name"].split("."):
        if not hasattr(found, part):
            raise ClassifierError(f"{match['module']} has no {match['name']!r}")
        found = getattr(found, part)
    if not _is_factory(found):
        return home, found
    try:
        return home, found()
    except Exception as error:
        raise ClassifierError(f"{spec} made no model: {raised(error)}") from error


def imported(module: str, spec: str) -> ModuleType:
    """A module, also from the working directory."""
    # As `python -m` does; an installed command does not look in the working directory.
    here = os.getcwd()
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        importlib.invalidate_caches()
        return importlib.import_module(module)
    except ImportError as error:
        raise ClassifierError(f"{spec} cannot be imported: {error}") from error
    except Exception as error:
        raise ClassifierError(f"{spec} cannot be imported: {raised(error)}") from error
    finally:
        if added:
            sys.path.remove(here)


def _is_factory(found: Any) -> bool:
    if not callable(found) or _is_torch_module(found):
        return False
    if isinstance(found, Classifier) and not isinstance(found, type):
        return False
    try:
        inspect.signature(found).bind()
    except (TypeError, ValueError):
        return False
    return True


def _is_torch_module(found: Any) -> bool:
    # Whoever has a module has imported torch already.
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(found, torch.nn.Module)


def _load_weights(module: Any, path: Path, spec: str) -> None:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError:
        raise MissingExtra("safetensors", "torch") from None
    if path.suffix != ".safetensors":
        raise ClassifierError(
            f"`weights` must be a .safetensors file, got {path.name}; "
            "save them with safetensors.torch.save_file(module.state_dict(), path)"
        )
    try:
        module.load_state_dict(load_file(path))
    except (SafetensorError, OSError, RuntimeError) as error:
        raise ClassifierError(f"{path.name} cannot be loaded into {spec}: {error}") from error


def _needed(input_shape: tuple[int, ...] | None, spec: str) -> tuple[int, ...]:
    if input_shape is None:
        raise InvalidInput(f"{spec} does not say its input shape; give `input_shape`")
    return input_shape


def _source_of(home: ModuleType) -> str:
    source = getattr(home, "__file__", None)
    return f"sha256:{hashlib.sha256(Path(source).read_bytes()).hexdigest()}" if source else ""


def _kind(made: Any) -> str:
    return f"of type {type(made).__name__}"
