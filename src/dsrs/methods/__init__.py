"""From votes to certificates: one file a method.

Names are loaded when they are asked for: defaults and registry are read by `--help`, which must not
wait for NumPy and SciPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsrs.methods.base import Method as Method
    from dsrs.methods.base import Want as Want
    from dsrs.methods.defaults import NEYMAN_PEARSON as NEYMAN_PEARSON
    from dsrs.methods.plan import Plan as Plan
    from dsrs.methods.registry import Entry as Entry
    from dsrs.methods.registry import methods_of as methods_of
    from dsrs.methods.registry import register as register
    from dsrs.methods.session import Session as Session
    from dsrs.methods.session import certificates_of as certificates_of

_HOMES = {
    "base": ("Method", "Want"),
    "defaults": ("NEYMAN_PEARSON",),
    "plan": ("Plan",),
    "registry": ("Entry", "methods_of", "register"),
    "session": ("Session", "certificates_of"),
}

__all__ = [name for names in _HOMES.values() for name in names]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
