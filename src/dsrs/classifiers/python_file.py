"""`path/to/file.py:name`: the user's own model in a file, wherever that is."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

from dsrs.classifiers.adapters import Adapter, ModelOptions
from dsrs.classifiers.base import Classifier, raised
from dsrs.classifiers.python_object import ADAPTER as OBJECT_ADAPTER
from dsrs.classifiers.python_object import from_home
from dsrs.errors import ClassifierError

FILE_SPEC = re.compile(r".+\.py:[A-Za-z_][\w.]*")


def from_python_file(spec: str, options: ModelOptions) -> Classifier:
    """A classifier from what `path/to/file.py:name` names, as `package.module:name` does.

    Modules beside the file are found. The description and the fingerprint have the name of the
    file without its folder.
    """
    file, _, name = spec.rpartition(":")
    return from_home(_imported(Path(file)), name, f"{Path(file).name}:{name}", options)


ADAPTER = Adapter(
    "path/to/file.py:name",
    lambda name: FILE_SPEC.fullmatch(name) is not None,
    from_python_file,
    OBJECT_ADAPTER.takes,
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
