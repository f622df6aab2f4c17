"""The checker as a module: it is no part of the package, and is loaded from its file."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

FILE = Path(__file__).parents[2] / "checker" / "dsrs_check.py"


def loaded(name: str = "dsrs_check") -> ModuleType:
    """Return the checker, loaded once under this name."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, FILE)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


check: Any = loaded()
