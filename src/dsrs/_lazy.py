"""Names of a package that are loaded when they are first asked for (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def exports(
    package: str,
    homes: Mapping[str, Sequence[str]],
    *,
    modules: Sequence[str] = (),
    packages: Sequence[str] = (),
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package.

    Type checkers do not read the table: the same names stand in a block of imports beside it. No
    name may be that of a file of the package, which would take its place as soon as it is imported.

    Args:
        package: its `__name__`.
        homes: file -> names that are defined there and exported.
        modules: files that are exported as they are.
        packages: packages in it that are loaded as its attributes; `__all__` is without them.
    """
    home_of = {name: f"{package}.{home}" for home, names in homes.items() for name in names}
    loaded = {*modules, *packages}

    def get(name: str) -> Any:
        if name in home_of:
            return getattr(import_module(home_of[name]), name)
        if name in loaded:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return sorted([*home_of, *modules]), get, lambda: sorted([*home_of, *loaded])
