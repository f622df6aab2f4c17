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

from dsrs.classifiers.adapters import Adapter, ModelOptions
from dsrs.classifiers.base import Classifier, raised
from dsrs.classifiers.callable import from_callable
from dsrs.classifiers.layout import channels_last as on_images
from dsrs.classifiers.precision import arithmetic_text
from dsrs.classifiers.sklearn_estimator import from_sklearn
from dsrs.classifiers.torch_module import from_torch, refuse_training_mode
from dsrs.classifiers.weights import read_weights, with_weights
from dsrs.errors import ClassifierError, InvalidInput

OBJECT_SPEC = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def from_python_object(spec: str, options: ModelOptions) -> Classifier:
    """A classifier from what `package.module:name` names.

    That is a Classifier, a PyTorch module, a fitted scikit-learn estimator, a callable on
    batches, or a function or class that makes one of these when called without arguments.
    Modules in the working directory are found too. `weights`, a file of tensors, is loaded into
    a PyTorch module, which is then evaluated. `channels_last` is for callables. The fingerprint of
    a callable includes its module's source and answers.
    """
    module, _, name = spec.partition(":")
    return from_home(imported_home(module, spec), name, spec, options)


def from_home(home: ModuleType, name: str, spec: str, options: ModelOptions) -> Classifier:
    """A classifier from what a module calls `name`; messages call it `spec`."""
    file = getattr(home, "__file__", None)
    source = f"sha256:{hashlib.sha256(Path(file).read_bytes()).hexdigest()}" if file else ""
    return from_object(object_named(home, name, spec), spec, options, source)


def from_object(made: Any, spec: str, options: ModelOptions, source: str = "") -> Classifier:
    """A classifier from an object that is one, or that an adapter takes.

    Args:
        made: a Classifier, a PyTorch module, a fitted scikit-learn estimator, or a callable.
        spec: what messages and descriptions call it.
        options: how to read it.
        source: what is known of the code of a callable, for its fingerprint.
    """
    is_module, is_estimator = _is_torch_module(made), hasattr(made, "classes_")
    if options.weights is not None and not is_module:
        raise InvalidInput(f"`weights` are for a PyTorch module, {spec} is {_kind(made)}")
    arithmetic = arithmetic_text(options.precision, options.engine)
    if arithmetic and not is_module:
        raise InvalidInput(
            f"`precision` and `engine` ({arithmetic}) are for a PyTorch module, {spec} is "
            f"{_kind(made)}, which says itself how it computes"
        )
    if options.channels_last and (is_module or is_estimator or isinstance(made, Classifier)):
        raise InvalidInput(f"`channels_last` is for a function on batches, {spec} is {_kind(made)}")
    if is_module:
        return _from_module(made, spec, options)
    if isinstance(made, Classifier):
        return made
    if is_estimator and hasattr(made, "predict"):
        return from_sklearn(made, options.input_shape, bounds=options.bounds, name=spec)
    if not callable(made):
        advice = "; let its class inherit from it" if hasattr(made, "classify") else ""
        raise ClassifierError(
            f"{spec} must be a dsrs.classifiers.Classifier, a PyTorch module, a fitted "
            "scikit-learn estimator, a callable on batches, or make one without arguments; it is "
            f"{_kind(made)}{advice}"
        )
    return from_callable(
        on_images(made) if options.channels_last else made,
        options.shape_of(spec),
        options.num_classes,
        bounds=options.bounds,
        name=spec,
        source=source,
    )


ADAPTER = Adapter(
    "package.module:name",
    lambda name: OBJECT_SPEC.fullmatch(name) is not None,
    from_python_object,
    frozenset({"engine", "precision", "weights", "channels_last"}),
    runs_code=True,
)


def _from_module(module: Any, spec: str, options: ModelOptions) -> Classifier:
    if options.weights is not None:
        title = f"the weights of {Path(options.weights).name} and {spec}"
        tensors = read_weights(options.weights)
        module = with_weights(module, tensors, title, options.mean, options.std)
    refuse_training_mode(module, spec)
    shape = options.shape_of(spec)
    names = ("num_classes", "bounds", "engine", "precision", "threads", "device")
    return from_torch(module, shape, **options.chosen(*names), name=spec)


def object_named(home: ModuleType, name: str, spec: str) -> Any:
    """The object of this name in a module, or what it makes when it needs no arguments."""
    item: Any = home
    for part in name.split("."):
        if not hasattr(item, part):
            raise ClassifierError(f"{home.__name__} has no {name!r}")
        item = getattr(item, part)
    if not _is_factory(item):
        return item
    try:
        return item()
    except Exception as error:
        raise ClassifierError(f"{spec} made no model: {raised(error)}") from error


def imported_home(module: str, spec: str) -> ModuleType:
    """A module, also from the working directory."""
    # As `python -m` does; an installed command does not look in the working directory.
    here = os.getcwd()
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        importlib.invalidate_caches()
        return importlib.import_module(module)
    except Exception as error:
        reason = str(error) if isinstance(error, ImportError) else raised(error)
        raise ClassifierError(f"{spec} cannot be imported: {reason}") from error
    finally:
        if added:
            sys.path.remove(here)


def _is_factory(item: Any) -> bool:
    if not callable(item) or _is_torch_module(item):
        return False
    if isinstance(item, Classifier) and not isinstance(item, type):
        return False
    try:
        inspect.signature(item).bind()
    except (TypeError, ValueError):
        return False
    return True


def _is_torch_module(item: Any) -> bool:
    # Whoever has a module has imported torch already.
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(item, torch.nn.Module)


def _kind(made: Any) -> str:
    return f"of type {type(made).__name__}"
