"""The user's own model: an object in Python, or one that a module or a file names."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import math
import os
import pickle
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.adapters import Adapter, ModelOptions
from dsrs.classifiers.base import UNIT_BOUNDS, Classifier, checked_shape, raised
from dsrs.classifiers.callable import CallableClassifier, from_callable, remembered
from dsrs.classifiers.composed import channels_last as on_images
from dsrs.classifiers.tensor_passes import arithmetic_text
from dsrs.classifiers.torch_module import from_torch, refuse_training_mode
from dsrs.classifiers.weights import read_weights, with_weights
from dsrs.errors import ClassifierError, InvalidInput

# ---- A fitted scikit-learn classifier, on flattened inputs


@remembered
def from_sklearn(
    estimator: Any,
    input_shape: tuple[int, ...] | None = None,
    *,
    bounds: tuple[float, float] = UNIT_BOUNDS,
    name: str | None = None,
) -> CallableClassifier:
    """A classifier from a fitted estimator with `predict` and `classes_`.

    Integer classes keep their number, so that they agree with the labels of a dataset; other
    classes are numbered in the order of `classes_`. `input_shape` defaults to the number of
    features that the estimator was fitted on. The fingerprint is of the pickled estimator.
    """
    title = name or f"scikit-learn {type(estimator).__name__}"
    classes = getattr(estimator, "classes_", None)
    if not isinstance(classes, np.ndarray) or not hasattr(estimator, "predict"):
        raise ClassifierError(
            f"{title} must be a fitted classifier of one output, with `predict` and `classes_`; "
            "call .fit first"
        )
    shape = _input_shape(estimator, input_shape, title)
    numbered = np.issubdtype(classes.dtype, np.integer)
    if numbered and classes.min() < 0:
        raise ClassifierError(
            f"{title} must have class numbers of at least 0, got {classes.min()}; "
            "fit it on labels that start at 0"
        )

    def forward(batch: NDArray[np.float32]) -> NDArray[np.int64]:
        predicted = estimator.predict(batch.reshape(len(batch), -1))
        ids = predicted if numbered else np.searchsorted(classes, predicted)
        return np.asarray(ids, dtype=np.int64)

    count = int(classes.max()) + 1 if numbered else len(classes)
    made = from_callable(
        forward,
        shape,
        count,
        bounds=bounds,
        name=title,
        fingerprint=f"sha256:{hashlib.sha256(pickle.dumps(estimator, protocol=4)).hexdigest()}",
    )
    if not numbered:
        made = replace(made, class_names=tuple(map(str, classes)))
    if not hasattr(estimator, "predict_proba"):
        return made

    def probabilities(batch: NDArray[np.float32]) -> NDArray[np.float64]:
        columns = np.zeros((len(batch), count))
        places = classes if numbered else np.arange(count)
        columns[:, places] = estimator.predict_proba(batch.reshape(len(batch), -1))
        return columns

    return replace(made, scoring=probabilities)


def _input_shape(estimator: Any, asked: tuple[int, ...] | None, title: str) -> tuple[int, ...]:
    features = getattr(estimator, "n_features_in_", None)
    if asked is None:
        if features is None:
            raise ClassifierError(
                f"{title} does not tell its number of features; give `input_shape`"
            )
        return (int(features),)
    shape = checked_shape(asked)
    if features is not None and math.prod(shape) != features:
        raise ClassifierError(
            f"{title} was fitted on {features} features, "
            f"but `input_shape` is {shape}, which has {math.prod(shape)}"
        )
    return shape


# ---- An object that `package.module:name` names

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


PYTHON_OBJECT = Adapter(
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


# ---- An object that `path/to/file.py:name` names

FILE_SPEC = re.compile(r".+\.py:[A-Za-z_][\w.]*")


def from_python_file(spec: str, options: ModelOptions) -> Classifier:
    """A classifier from what `path/to/file.py:name` names, as `package.module:name` does.

    Modules beside the file are found. The description and the fingerprint have the name of the
    file without its folder.
    """
    file, _, name = spec.rpartition(":")
    return from_home(_imported(Path(file)), name, f"{Path(file).name}:{name}", options)


PYTHON_FILE = Adapter(
    "path/to/file.py:name",
    lambda name: FILE_SPEC.fullmatch(name) is not None,
    from_python_file,
    PYTHON_OBJECT.takes,
    runs_code=True,
)


def _imported(path: Path) -> ModuleType:
    """The module in a file, with its folder on the path of modules while it is imported."""
    if not path.is_file():
        raise ClassifierError(f"there is no file {str(path)!r}")
    folder, name = str(path.resolve().parent), path.stem
    module_spec = importlib.util.spec_from_file_location(name, path.resolve())
    if module_spec is None or module_spec.loader is None:
        raise ClassifierError(f"{path} cannot be imported as Python code")
    module = importlib.util.module_from_spec(module_spec)
    before = sys.modules.get(name)
    sys.path.insert(0, folder)
    sys.modules[name] = module  # as dataclasses and pickle look modules up while it runs
    try:
        module_spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        if before is None:
            del sys.modules[name]
        raise ClassifierError(f"{path} cannot be imported: {raised(error)}") from error
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
        if before is not None:
            sys.modules[name] = before
    return module
