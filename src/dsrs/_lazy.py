"""Names of a package that are loaded when they are first asked for (PEP 562).

What a package exports stands once, in the block of imports that type checkers read:

    if TYPE_CHECKING:
        from dsrs.laws.grid import Grid as Grid
    else:
        __all__, __getattr__, __dir__ = exports(__name__)
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any


def exports(
    package: str, own: Sequence[str] = (), packages: Sequence[str] = ()
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package.

    No name may be that of a file of the package, which would take its place once it is imported.

    Args:
        package: its `__name__`; each `from HOME import NAME as NAME` of its block is exported.
        own: names that it defines itself.
        packages: packages in it that are loaded as its attributes; `__all__` is without them.
    """
    source = Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8")
    blocks = [node.body for node in ast.parse(source).body if isinstance(node, ast.If)]
    home_of = {
        alias.asname: str(node.module)
        for block in blocks
        for node in block
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }

    def get(name: str) -> Any:
        home = home_of.get(name, package if name in packages else None)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home == package:
            return import_module(f"{package}.{name}")
        return getattr(import_module(home), name)

    return sorted([*home_of, *own]), get, lambda: sorted([*home_of, *own, *packages])
