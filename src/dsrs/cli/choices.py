"""Choices of options that live in the library, looked up only when an option is given.

Help must not load what it names: `choices=` would need the whole list to print a line.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module


def one_of(module: str, name: str) -> Callable[[str], str]:
    """A `type` for argparse that accepts the names in `name` of `module`."""

    def chosen(text: str) -> str:
        known = tuple(getattr(import_module(module), name))
        if text not in known:
            raise argparse.ArgumentTypeError(f"expected one of {', '.join(known)}, got {text!r}")
        return text

    return chosen
